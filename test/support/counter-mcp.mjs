// An MCP server by standard streams, written by hand. Its first word may name a rule that it breaks, at the first call of `add` or before.

import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { createCounter } from './counter-tools.mjs'

const [attack = 'none'] = process.argv.slice(2)
const LARGE = 100_000_000
const counter = createCounter(attack === 'other-version' ? '1999-01-01' : undefined)

const send = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)

/** Breaks the rule. */
function misbehave(id) {
  switch (attack) {
    case 'die':
      return process.exit(3)
    case 'flood':
      for (let index = 0; index < 30_000; index++)
        send({ method: 'notifications/message', params: { level: 'info', data: 'again and again' } })
      return
    case 'tell':
      process.stderr.write(`\u001b[2Jmy word is ${process.env.RL_TEST_WORD}\n`)
      return process.exit(6)
    case 'pings': {
      // It asks without end, and reads no answer.
      process.stdin.pause()
      const asks = `${JSON.stringify({ jsonrpc: '2.0', id: 'x'.repeat(10_000), method: 'ping' })}\n`.repeat(
        50,
      )
      const more = () => void process.stdout.write(asks, () => setImmediate(more))
      return more()
    }
    case 'nonsense':
      return void process.stdout.write('[1, 2, 3]\n')
    case 'no-json':
      return void process.stdout.write('<html>\n')
    case 'large':
      return send({ id, result: { content: [{ type: 'text', text: 'x'.repeat(LARGE) }] } })
    case 'endless':
      return void process.stdout.write('x'.repeat(LARGE))
    case 'lie-result':
      return send({ id, result: { content: 7 } })
    case 'orphan': {
      // A child that leaves the group of its parent.
      const child = spawn('sleep', ['7654322'], { detached: true, stdio: 'ignore' })
      child.unref()
      return process.exit(4)
    }
  }
}

/** Whether it answers a message as a server should. */
function isGood({ method, params }) {
  if (method === 'initialize' && attack === 'die-start') process.exit(5)
  if (method === 'initialize' && attack === 'tell') return false
  if (method === 'initialize') return attack !== 'hang-start'
  return attack === 'none' || method !== 'tools/call' || params.name !== 'add'
}

createInterface({ input: process.stdin }).on('line', (line) => {
  const message = JSON.parse(line)
  if (attack === 'pages' && message.method === 'tools/list')
    return send({ id: message.id, result: { tools: [], nextCursor: 'again' } })
  if (!isGood(message)) return misbehave(message.id)
  const answer = counter(message)
  if (answer) send(answer)
})
