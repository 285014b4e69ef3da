/** Rules beside the causal credit of drawn steps, as `rl rescore --rules all --branch` tells it. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { ruleLines } from '../../src/cli/rescore-rules.ts'
import { RlError } from '../../src/errors.ts'
import { type LogReader, openLogReader } from '../../src/events/log-reader.ts'
import { completedIterations } from '../../src/replay/completed-iterations.ts'
import { acceptedBy, advantagesOf, decisionsUnder } from '../../src/replay/rescore.ts'
import { rescoreAll } from '../../src/replay/rescore-all.ts'
import { creditBook, drawnCredits } from '../../src/replay/rule-credit.ts'
import { smallConfig } from '../actors/loop.ts'
import { startProcess } from '../support/processes.ts'
import { temporaryFolder } from '../support/run.ts'
import { unpackFixture } from './fixture.ts'
import { recordLoop } from './record.ts'
import { giveWeights } from './weights.ts'

const root = temporaryFolder()
process.env.RL_RUNS = root
const folder = unpackFixture(root)
let log: LogReader

test.before(async () => {
  await giveWeights(folder, [
    ['policy', 0],
    ['policy', 1],
  ])
  log = openLogReader(folder.log)
})
test.after(() => log.close())

test('a rule whose advantages are the credit agrees wholly, and rules without a say have no figure', () => {
  const book = new Map<string, Map<number, number>>()
  let steps = 0
  for (const played of completedIterations(log, new Set())) {
    const decided = acceptedBy(decisionsUnder(played, played.config), 'before')
    for (const [rollout, values] of advantagesOf(played, decided, played.config).byRollout) {
      book.set(rollout, new Map(Array.from(values, (value, step) => [step, value])))
      steps += values.length
    }
  }
  const found = rescoreAll(log, [], book)
  const of = (rule: string) => found.rows.find((row) => row.rule === rule)?.figures?.withCredit
  assert.is(of('integrated')?.n, steps)
  assert.ok(Math.abs((of('integrated')?.value ?? 0) - 1) < 1e-12)
  assert.ok((of('reward-model')?.value ?? 1) < 1)
  assert.is(of('uniform'), undefined)
  assert.is(rescoreAll(log).rows.find(({ rule }) => rule === 'integrated')?.figures?.withCredit, null)
})

const branch = async (...words: string[]) => {
  const rescored = startProcess(['src/rl.ts', 'rescore', ...words], { RL_RUNS: root })
  return [await rescored.status, rescored.output()] as const
}

test('a child run that cannot hold continuations is refused before any is played', async () => {
  const all = ['run', '--rules', 'all', '--branch', '1', '--steps', '1']
  const [status, output] = await branch(...all, '--as', 'Bad Name')
  assert.is(status, 1)
  assert.match(output, '"Bad Name"')
  const [other, told] = await branch(...all, '--as', 'run')
  assert.is(other, 1)
  assert.match(told, 'no child of')
  const [useless, reason] = await branch('run', '--rules', 'all', '--steps', '3')
  assert.is(useless, 2)
  assert.match(reason, '--steps goes with --branch')
})

test('steps are drawn by a seed and gone on from by the version that played them', async () => {
  const options = { steps: 5, branches: 2, seed: 3 }
  const played: string[] = []
  const credits = await drawnCredits(log, {
    ...options,
    onContinuation: ({ trajectory }) => played.push(trajectory.rollout),
  })
  assert.is(credits.length, 5)
  assert.ok(played.length > 0 && played.length <= 5 * 2 * 2)
  for (const { rollout, step, kept, open } of credits) {
    const asked = log.byKey(`RolloutRequested/${rollout}`)
    if (asked?.type !== 'RolloutRequested') throw new Error(rollout)
    assert.is(asked.data.purpose, 'train')
    assert.equal([kept.n, open.n], [2, 2])
    for (const name of played.filter((one) => one.startsWith(`${rollout}/from-${step}/`)))
      assert.ok(name.includes(`/policy-${asked.data.policyVersion}/`), name)
  }
  assert.equal(await drawnCredits(log, options), credits, 'the same again')
  const found = rescoreAll(log, [], creditBook(credits))
  const estimate = found.rows.find(({ rule }) => rule === 'integrated')?.figures?.withCredit
  assert.ok(estimate === null || estimate?.n === 5)
  const lines = ruleLines(found, 1, credits.length)
  assert.ok(lines.some((line) => /rule .* with credit/.test(line)))
  assert.ok(lines.includes('with credit: correlation over 5 drawn steps, with its 95 % interval'))
  assert.match(lines.at(-1) ?? '', /^rules=\d+ steps=300 refused=0$/)
})

test('a run that cannot be played again is refused by name', async () => {
  const simulated = recordLoop(root, 'simulated', smallConfig({ run: { iterations: 2, evaluateEvery: 2 } }))
  const codeOf = async (run: LogReader) => {
    try {
      await drawnCredits(run, { steps: 2, branches: 1, seed: 1 })
      return null
    } catch (error) {
      return error instanceof RlError ? error.code : error
    }
  }
  assert.is(await codeOf(simulated), 'setting.simulated')
  const begun = recordLoop(
    root,
    'begun',
    smallConfig({ run: { iterations: 2, evaluateEvery: 2 } }),
    (event) => (event.type === 'IterationCompleted' ? null : event),
  )
  assert.is(await codeOf(begun), 'whatif.no-steps')
  for (const run of [simulated, begun]) run.close()
})

test.run()
