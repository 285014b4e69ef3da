/** Telling a person of what happens to a run: by a real command, and by a real POST. */
import { existsSync, readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { openNotifier } from '../../src/actors/head/notify.ts'
import type { LoggedEvent } from '../../src/events/catalogue.ts'
import { temporaryFolder } from '../support/run.ts'

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

test.run()
