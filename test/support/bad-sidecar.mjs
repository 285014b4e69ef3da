// A sidecar that breaks the rule named by its first word, at the first step. The second word is the real program.

import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'

const [attack] = process.argv.slice(2)
const say = (value) => process.stdout.write(`${JSON.stringify(value)}\n`)
const shown = { observation: '0', admissible: null }

function misbehave() {
  switch (attack) {
    case 'hang':
      return
    case 'die':
      return process.exit(3)
    case 'flood':
      for (let count = 0; count < 10_000; count++) say({ ...shown, reward: 0, done: false })
      return
    case 'no-json':
      return process.stdout.write('<html>\n')
    case 'large':
      return process.stdout.write('x'.repeat(100_000_000))
    case 'lie-reward':
      return say({ ...shown, reward: 1e9, done: true })
    case 'lie-done':
      return say({ ...shown, reward: 0, done: 'perhaps' })
    case 'orphan': {
      // A child that leaves the group of its parent.
      const child = spawn('sleep', ['7654321'], { detached: true, stdio: 'ignore' })
      child.unref()
      return process.exit(4)
    }
  }
}

createInterface({ input: process.stdin }).on('line', (line) => {
  const { op } = JSON.parse(line)
  if (op === 'make') say({ version: attack === 'other-version' ? 99 : 1, actions: 2 })
  else if (op === 'reset') say(shown)
  else misbehave()
})
