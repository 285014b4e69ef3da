import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { ruleLines } from '../../src/cli/rescore-rules.ts'
import { changeConfig, loggedConfig } from '../../src/config.ts'
import { openLogReader } from '../../src/events/log-reader.ts'
import { startsOf } from '../../src/events/starts.ts'
import { loadRules } from '../../src/learning/registry.ts'
import { rescore } from '../../src/replay/rescore.ts'
import { rescoreAll } from '../../src/replay/rescore-all.ts'
import { smallConfig } from '../actors/loop.ts'
import { temporaryFolder } from '../support/run.ts'
import { unpackFixture } from './fixture.ts'
import { recordLoop } from './record.ts'

test('every rule has a row, the rules of the run change nothing, and a row agrees with a rescore of the rule', () => {
  const log = openLogReader(unpackFixture(temporaryFolder()).log)
  const found = rescoreAll(log)
  const { rows, steps, trajectories } = found
  assert.equal([steps, trajectories], [300, 20])
  assert.ok(rows.length >= 30)
  // The run is older than the times of steps, and logs nothing that a key must turn on.
  assert.equal(
    rows.filter(({ lacks }) => lacks !== null).map(({ rule, lacks }) => `${rule}: ${lacks}`),
    [
      'outlook: the log has no falls of the estimate (learning.reward outlook)',
      'best-outlook: the log has no falls of the estimate (learning.reward outlook)',
      'checklist: the log has no criteria of votes (rewardModel.criteria)',
      'principles: the log has no criteria of votes (rewardModel.criteria)',
      'implicit: the log has no log-probabilities under version 0 (policy.baseLogprobs)',
      'similarity: the log has no reference solutions (environment.reference)',
      'traced: the log has no rollouts on recorded traces (environment.traces)',
      'role: the log has no roles of steps',
      'trend: the log has no outcomes that were guessed (unsure)',
      'duration: the log has no step times',
      'step-entropy: the log has no entropies of steps (policy.entropies)',
      'drift: it changes no reward: rl status tells it',
    ],
  )
  assert.match(
    ruleLines({ ...found }, 1).at(-1) ?? '',
    new RegExp(`^rules=${rows.length} steps=300 refused=0$`),
  )
  const own = rows.filter((row) => row.own)
  assert.equal(
    own.map(({ rule }) => rule),
    ['integrated', 'step-index', 'accuracy', 'uniform', 'strict'],
  )
  for (const { figures, playing, rule } of own) {
    if (playing) {
      assert.equal([playing.otherwise, playing.before], [0, playing.after], rule)
      continue
    }
    assert.equal([figures?.turned, figures?.switched, figures?.moved], [0, 0, 0], rule)
    assert.is(figures?.withBefore, 1)
  }
  const row = (rule: string) => rows.find((one) => one.rule === rule)?.figures
  for (const [rule, key] of [
    ['outcome', 'learning.reward=outcome'],
    ['truncated', 'learning.rollouts=[truncated]'],
    ['negative-scale', 'learning.weights=[negative-scale]'],
    ['variance', 'learning.filter=variance'],
  ] as const) {
    const { changed, moved, after } = rescore(log, [key])
    const sum = (of: 'turned' | 'switched') => changed.reduce((total, group) => total + group[of], 0)
    const found = row(rule)
    assert.equal(
      [found?.turned, found?.switched, found?.moved, found?.trainedSteps],
      [sum('turned'), sum('switched'), moved, after.trainedSteps],
      rule,
    )
  }
  assert.is(row('outcome')?.stepShare, 0)
  assert.is(row('reward-model')?.stepShare, 1)
  assert.ok((row('progress')?.withProgress ?? 0) > (row('integrated')?.withProgress ?? 1))
  log.close()
})

test('rules of what is played tell what they would have asked for', () => {
  const log = openLogReader(unpackFixture(temporaryFolder()).log)
  const planned = [...log.events({ types: ['IterationPlanned'] })].flatMap(({ data }) => data.groups)
  const trained = planned.filter(({ purpose }) => purpose === 'train')
  const { rows } = rescoreAll(log)
  const row = (kind: string, rule: string) =>
    rows.find((one) => one.kind === kind && one.rule === rule)?.playing
  assert.is(row('taskSampler', 'uniform')?.groups, trained.length)
  // The horizon of the first of three stages is half of the run's.
  const limit = Math.round(loggedConfig(startsOf(log).last.data.config).environment.maxSteps / 2)
  const steps = [...log.events({ types: ['TrajectoryCompleted'] })].flatMap(({ data }) =>
    data.purpose === 'evaluation' ? [] : [data.steps],
  )
  const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0)
  assert.equal(row('horizon', 'stages'), {
    ...{ groups: planned.length, otherwise: planned.length, unit: 'steps' },
    ...{ before: sum(steps), after: sum(steps.map((count) => Math.min(count, limit))) },
  })
  // Only a task that mostly succeeds is played less.
  const size = row('groupSize', 'by-success')
  assert.ok((size?.after ?? Infinity) <= (size?.before ?? 0))
  log.close()
})

test('a rule that the config of the run cannot hold is refused by name, and the last line counts it', () => {
  const config = smallConfig({ rewardModel: { mode: 'off' }, learning: { reward: 'outcome' } })
  const log = recordLoop(temporaryFolder(), 'unjudged', config)
  const found = rescoreAll(log)
  const refused = found.rows.filter((row) => row.refused !== null)
  assert.ok(refused.some(({ rule }) => rule === 'gated'))
  for (const { rule, refused: why } of refused) assert.match(why ?? '', /needs (verdicts|progress)/, rule)
  assert.match(
    ruleLines(found, 1).at(-1) ?? '',
    new RegExp(`^rules=\\d+ steps=\\d+ refused=${refused.length}$`),
  )
  log.close()
})

test("a user's rules have rows as well, and keys beside hold for every rule", async () => {
  const log = openLogReader(unpackFixture(temporaryFolder()).log)
  const set = ['learning.module=./test/fixtures/modules/rules.ts', 'learning.lambda=0.5']
  await loadRules(changeConfig(loggedConfig(startsOf(log).last.data.config), set))
  const { rows } = rescoreAll(log, set)
  for (const rule of ['no-repeats', 'centred', 'at-least-two-wins', 'ever-solved'])
    assert.ok(rows.find((row) => row.rule === rule)?.figures, rule)
  assert.ok(rows.find(({ rule }) => rule === 'frontier')?.playing)
  assert.is.not(rows.find(({ rule }) => rule === 'integrated')?.figures?.moved, 0)
  assert.throws(() => rescoreAll(log, ['run.seed=3']), /run.seed is no key/)
  log.close()
})

test.run()
