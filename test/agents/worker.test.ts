/** A user's function in a process of its own: what it throws, how it hangs, floods and ends costs one call. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { gradeOf, outcomeOf } from '../../src/agents/result.ts'
import { openUserWorker } from '../../src/agents/worker.ts'
import { errorOf } from '../support/error-of.ts'
import { isAlive } from '../support/processes.ts'
import { temporaryFolder, until } from '../support/run.ts'

const root = temporaryFolder()

function module(text: string): string {
  const file = join(root, `module-${text.length}.mjs`)
  writeFileSync(file, text)
  return file
}

const AGENT = module(`
import { spawn } from 'node:child_process'
export async function agent(task, { baseURL, log, signal }) {
  if (task.id === 'throws') throw new Error('no luck')
  if (task.id === 'hangs') await new Promise(() => {})
  if (task.id === 'spins') for (;;) {}
  if (task.id === 'ends') process.exit(7)
  if (task.id === 'leaves and ends') {
    log(spawn('sleep', ['300'], { stdio: 'ignore' }).pid)
    process.exit(7)
  }
  if (task.id === 'floods') for (;;) { process.stdout.write('x'.repeat(1e6)); await new Promise(setImmediate) }
  if (task.id === 'floods at once') for (;;) process.stdout.write('x'.repeat(1e6))
  if (task.id === 'foretells') for (let id = 0; id < 500; id++) process.send({ kind: 'result', id, value: 'told by another' })
  if (task.id === 'large') return 'x'.repeat(2e6)
  if (task.id === 'leaves') return spawn('sleep', ['300'], { stdio: 'ignore' }).pid
  log('works on', task.id)
  return { url: baseURL, aborted: signal.aborted }
}`)

test('a call gets its result, and each way to fail is told and costs that call alone', async () => {
  const printed: string[] = []
  const worker = openUserWorker(AGENT, 'agent', (text) => printed.push(text))
  try {
    const call = (id: string, ms = 20_000) => worker.call([{ id }, { baseURL: 'http://x/v1' }], ms)
    assert.equal(await call('fine'), { kind: 'value', value: { url: 'http://x/v1', aborted: false } })
    await until('the log is heard', () => printed.join('').includes('works on fine'))
    const failing: readonly (readonly [string, number, RegExp])[] = [
      ['throws', 20_000, /^no luck.*module-\d+\.mjs:4/],
      ['hangs', 300, /no result within 0\.3 s and was ended/],
      ['spins', 300, /no result within 0\.3 s and was ended/],
      ['ends', 20_000, /its process ended with status 7/],
      ['floods', 20_000, /printed more than 10 MB|its process ended/],
      ['floods at once', 20_000, /printed more than 10 MB|its process ended/],
      ['large', 20_000, /2000002 characters/],
    ]
    for (const [id, ms, told] of failing) {
      const result = await call(id, ms)
      const error = result.kind === 'fault' ? result.error : 'no fault'
      assert.ok(told.test(error), `${id}: ${error}`)
      assert.is((await call('fine')).kind, 'value', `after ${id}`)
    }
    await call('foretells')
    for (let again = 0; again < 5; again++)
      assert.is.not(JSON.stringify(await call('fine')).includes('told by another'), true)
    await call('leaves and ends')
    // The output of earlier calls may come after their results: the number stands in a line of its own.
    const told = () => /^\d+$/m.exec(printed.join(''))?.[0]
    await until('it told what it left', () => told() !== undefined)
    await until('what it left is gone', () => !isAlive(Number(told())))
    const left = await call('leaves')
    worker.close()
    await until('what it left is gone', () => left.kind === 'value' && !isAlive(left.value as number))
  } finally {
    worker.close()
  }
})

test('a grade may say that the model is to blame for a failure, and may leave it', async () => {
  const GRADE = module(`
export const grade = () => true
export const failure = (task, error) => (/parse/.test(error) ? false : undefined)`)
  const worker = openUserWorker(GRADE, 'grade', () => {})
  const silent = openUserWorker(module('export const grade = () => true'), 'grade', () => {})
  try {
    const blamed = async (error: string, by = worker) => by.call([{ id: 'a' }, error, []], 20_000, 'failure')
    assert.equal(await blamed('could not parse'), { kind: 'value', value: false })
    assert.equal(await blamed('no network'), { kind: 'value', value: null })
    assert.equal(await blamed('could not parse', silent), { kind: 'value', value: null })
    assert.equal(await worker.call([{ id: 'a' }, 'x', []], 20_000), { kind: 'value', value: true })
  } finally {
    worker.close()
    silent.close()
  }
})

test('a module that cannot be loaded is told with its file', async () => {
  const broken = async (text: string) => {
    const worker = openUserWorker(module(text), 'grade', () => {})
    const { code, message } = await errorOf(worker.call([], 1_000))
    worker.close()
    return `${code}: ${message}`
  }
  assert.match(await broken('export const other = 1'), /^agents\.module: .*exports no function 'grade'/)
  assert.match(await broken('throw new Error("at once")'), /at once/)
  assert.match(await broken('export function ('), /module-\d+\.mjs/)
})

test('results are outcomes, or faults of the grade', () => {
  const graded = (value: unknown) => gradeOf({ kind: 'value', value })
  assert.equal(graded(true), { success: true })
  assert.equal(graded(0.5), { score: 0.5 })
  assert.equal(graded({ score: 0.5, unsure: true }), { score: 0.5, unsure: true })
  assert.equal(graded({ abstained: 'too hard' }), { abstained: 'too hard' })
  for (const value of [undefined, 2, -1, 'yes', { success: 'yes' }, null, []])
    assert.is('failed' in graded(value), true, String(value))
  assert.equal(outcomeOf({ abstained: true }), { abstained: 'the agent gave up' })
  assert.is(outcomeOf('a text'), null)
})

test.run()
