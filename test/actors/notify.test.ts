/** Telling a person of what happens to a run: by a real command, and by a real POST. */
import { existsSync, readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { openNotifier } from '../../src/actors/head/notify.ts'
import type { LoggedEvent } from '../../src/events/catalogue.ts'
import { temporaryFolder, until } from '../support/run.ts'

const root = temporaryFolder()

function logged(type: 'RunPaused' | 'RunCompleted' | 'StallDetected', data: unknown): LoggedEvent {
  return { type, data, run: 'run-1', position: 7 } as unknown as LoggedEvent
}

const stall = logged('StallDetected', { owner: 'policy', waitingFor: 'an update' })

test('a command gets texts as variables, and none becomes a word of the shell', async () => {
  const file = join(root, 'told')
  const lines: string[] = []
  const notifier = openNotifier(
    `printf '%s|%s|%s\\n' "$RL_RUN" "$RL_EVENT" "$RL_TEXT" >> '${file}'`,
    (line) => lines.push(line),
  )
  const hostile = `$(touch ${join(root, 'made')})'; touch ${join(root, 'made')}`
  notifier.see(logged('RunPaused', { reason: hostile }))
  notifier.see(logged('RunCompleted', { iterations: 4 }))
  await notifier.done()
  assert.equal(readFileSync(file, 'utf8').trim().split('\n'), [
    `run-1|RunPaused|run run-1 is paused: ${hostile}`,
    'run-1|RunCompleted|run run-1 is complete: 4 iterations',
  ])
  assert.not.ok(existsSync(join(root, 'made')))
  assert.equal(lines, [])
})

test('a URL gets JSON, one stall of many is told, and a refusal names no URL', async () => {
  const told: string[] = []
  let status = 200
  const server = createServer((request, answer) => {
    let body = ''
    request.on('data', (part) => {
      body += part
    })
    request.on('end', () => {
      told.push(body)
      answer.writeHead(status, { connection: 'close' }).end()
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const lines: string[] = []
  const env = { MY_WEBHOOK: `http://127.0.0.1:${port}/secret` }
  const notifier = openNotifier('$MY_WEBHOOK', (line) => lines.push(line), env)
  notifier.see(stall)
  notifier.see(stall)
  await notifier.done()
  assert.equal(
    told.map((body) => JSON.parse(body)),
    [
      {
        run: 'run-1',
        event: 'StallDetected',
        position: 7,
        text: 'run run-1 stalls: policy waits for an update',
      },
    ],
  )
  status = 500
  notifier.see(logged('RunCompleted', { iterations: 4 }))
  await notifier.done()
  await new Promise((resolve) => server.close(resolve))
  notifier.see(logged('RunCompleted', { iterations: 4 }))
  await notifier.done()
  assert.equal(lines, [
    'ui.notify could not tell of RunCompleted: the URL answers with status 500',
    'ui.notify could not tell of RunCompleted: ECONNREFUSED',
  ])
})

test('a command that fails, and a variable that is not set, are told and end nothing', async () => {
  const lines: string[] = []
  const notifier = openNotifier('exit 3', (line) => lines.push(line))
  notifier.see(logged('RunCompleted', { iterations: 1 }))
  await notifier.done()
  const unset = openNotifier('$NOT_SET', (line) => lines.push(line), {})
  unset.see(logged('RunCompleted', { iterations: 1 }))
  await unset.done()
  assert.equal(lines, [
    'ui.notify could not tell of RunCompleted: the command ended with status 3',
    'nobody is told: ui.notify names the variable NOT_SET, which is not set',
  ])
})

test('a long reason, and one with a NUL, are told in a line that a variable can hold', async () => {
  const file = join(root, 'long')
  const lines: string[] = []
  const notifier = openNotifier(`printf '%s\\n' "$RL_TEXT" >> '${file}'`, (line) => lines.push(line))
  notifier.see(logged('RunPaused', { reason: `bad\u0000 byte\n${'x'.repeat(300_000)}` }))
  await notifier.done()
  assert.equal(lines, [])
  const told = readFileSync(file, 'utf8')
  assert.match(told, /^run run-1 is paused: bad byte x+…\n$/)
  assert.ok(told.length < 2_000)
})

if (process.platform !== 'win32')
  test('a command that hangs is ended with all that it started', async () => {
    const file = join(root, 'pid')
    const lines: string[] = []
    const command = `sleep 600 & echo $! > '${file}'; wait; true`
    const notifier = openNotifier(command, (line) => lines.push(line), process.env, 200)
    notifier.see(logged('RunCompleted', { iterations: 1 }))
    await notifier.done()
    assert.equal(lines, ['ui.notify could not tell of RunCompleted: no answer within 0.2 s'])
    const pid = Number(readFileSync(file, 'utf8'))
    await until('it is gone', () => !isAlive(pid))
  })

function isAlive(pid: number): boolean {
  try {
    // A killed process whose parent is gone may wait to be taken away.
    return !readFileSync(`/proc/${pid}/stat`, 'utf8').includes(') Z ')
  } catch {
    return false
  }
}

test('a URL that leads elsewhere is told as such', async () => {
  const server = createServer((_, answer) => answer.writeHead(301, { location: '/secret' }).end())
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const lines: string[] = []
  const notifier = openNotifier(`http://127.0.0.1:${port}/`, (line) => lines.push(line))
  notifier.see(logged('RunCompleted', { iterations: 1 }))
  await notifier.done()
  server.closeAllConnections()
  await new Promise((resolve) => server.close(resolve))
  assert.equal(lines, ['ui.notify could not tell of RunCompleted: the URL answers with status 301'])
})

test.run()
