// A checker's program. Its first word says how it judges, or which rule it breaks.
import { readdirSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { homedir, tmpdir } from 'node:os'
import { dirname, join } from 'node:path'

const [mode, port] = process.argv.slice(2)
let text = ''
for await (const part of process.stdin) text += part
const { id, goal, answer } = JSON.parse(text)

const writes = (file) => {
  try {
    writeFileSync(file, 'x')
    return true
  } catch {
    return false
  }
}

const reaches = () =>
  new Promise((resolve) => {
    connect(Number(port), '127.0.0.1', () => resolve(true)).on('error', () => resolve(false))
  })

switch (mode) {
  case 'length':
    console.log(answer.length / 10)
    break
  case 'task':
    console.log(`${id} ${goal}`)
    break
  case 'escape':
    console.log(
      [
        writes(join(dirname(process.argv[1]), 'left-behind')) ? 'a file' : 'no file',
        (await reaches()) ? 'a network' : 'no network',
        readdirSync(homedir()).length > 1 ? 'a home' : 'no home',
        readdirSync('/run').length > 0 ? 'sockets' : 'no sockets',
        writes(join(tmpdir(), 'own')) ? 'one temporary file' : 'no temporary file',
      ].join(', '),
    )
    break
  case 'fail':
    console.error('no such test')
    process.exitCode = 3
    break
  case 'flood':
    process.stdout.write('x'.repeat(2_000_000))
    break
  case 'hang':
    setInterval(() => {}, 1_000)
    break
  case 'none':
    console.log('well done')
}
