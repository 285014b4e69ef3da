import { spawn } from 'node:child_process'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { startTestHead, type TestHead, temporaryFolder } from '../support/run.ts'
import { policyUpdated, runStarted } from '../support/toy.ts'

const root = temporaryFolder()

function rl(...args: readonly string[]): Promise<{ status: number | null; out: string; err: string }> {
  return new Promise((resolve) => {
    const child = spawn(process.execPath, ['src/rl.ts', ...args], {
      env: { ...process.env, RL_RUNS: root },
    })
    const result = { out: '', err: '' }
    child.stdout.on('data', (chunk) => {
      result.out += chunk
    })
    child.stderr.on('data', (chunk) => {
      result.err += chunk
    })
    child.on('close', (status) => resolve({ status, ...result }))
  })
}

let head: TestHead
test.before(async () => {
  head = await startTestHead({ root })
  head.service.append([runStarted, policyUpdated(1), { type: 'RunPaused', data: { reason: 'lunch' } }])
})
test.after(() => head.close())

test('rl runs lists runs, and says where none are', async () => {
  const { status, out } = await rl('runs', '--json')
  assert.is(status, 0)
  const { run, state, events } = JSON.parse(out)
  assert.equal([run, state, events], ['test', 'paused', 3])
})

test('rl status asks the head, and never prints its token', async () => {
  const { status, out } = await rl('status', 'test', '--json')
  assert.is(status, 0)
  const { live, reason } = JSON.parse(out)
  assert.is(reason, 'lunch')
  assert.is(live.position, 3)
  assert.not(out.includes(String(head.addressOf('tool').password)))
  assert.match((await rl('status', 'test')).out, /run test: paused \(lunch\)/)
})

test('rl log shows, exports and verifies', async () => {
  assert.match((await rl('log', 'test', 'tail', '-n', '1')).out, /^ +3 .*RunPaused .*reason=lunch\n$/)
  assert.is(JSON.parse((await rl('log', 'test', 'show', 'PolicyUpdated/1', '--json')).out).position, 2)
  const { out } = await rl('log', 'test', 'export', '--jsonl', '--type', 'RunPaused')
  assert.equal(JSON.parse(out).data, { reason: 'lunch' })
  assert.match((await rl('log', 'test', 'verify')).out, /3 events verified/)
})

test('what is wrong is said on one line, with status 1 or 2', async () => {
  const missing = await rl('log', 'none', 'verify')
  assert.is(missing.status, 1)
  assert.match(missing.err, /^rl: there is no event log at .*\n$/)
  assert.is((await rl('log', 'a.b', 'verify')).status, 1)
  assert.is((await rl('log', 'test', 'dance')).status, 2)
  assert.is((await rl('log', 'test', 'show', '99')).status, 1)
})

test('what a log holds steers no terminal', async () => {
  head.service.append([{ type: 'RunPaused', data: { reason: '\x1b]0;owned\x07\u009b2J\u202elunch' } }])
  const shown = '\\u001b]0;owned\\u0007\\u009b2J\\u202elunch'
  assert.ok((await rl('status', 'test')).out.includes(`paused (${shown})`))
  assert.ok((await rl('log', 'test', 'tail', '-n', '1')).out.includes(`reason=${shown}\n`))
  const { reason } = JSON.parse((await rl('status', 'test', '--json')).out)
  assert.is(reason, '\x1b]0;owned\x07\u009b2J\u202elunch')
})

test('rl doctor has a line for each check', async () => {
  const { out } = await rl('doctor', '--json')
  const checks = out
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line).check)
  assert.equal(checks, ['node', 'nats-server', 'SQLite', 'tensors', 'sandbox', 'browser', 'desktop', 'disk'])
})

test.run()
