import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { configKeys } from '../../src/config/keys.ts'
import { changeConfig, loggedConfig } from '../../src/config.ts'
import { RlError } from '../../src/errors.ts'
import { openLogReader } from '../../src/events/log-reader.ts'
import { startsOf } from '../../src/events/starts.ts'
import { loadRules } from '../../src/learning/registry.ts'
import { rescore } from '../../src/replay/rescore.ts'
import { checkRescored } from '../../src/replay/rescored-keys.ts'
import { ofType } from '../../src/replay/why.ts'
import { smallConfig } from '../actors/loop.ts'
import { temporaryFolder } from '../support/run.ts'
import { unpackFixture } from './fixture.ts'
import { recordLoop } from './record.ts'

test('under its own rules a run is what it was', () => {
  const log = openLogReader(unpackFixture(temporaryFolder()).log)
  const result = rescore(log, ['learning.lambda=1'])
  assert.equal(result.changed, [])
  assert.equal(result.flipped, [])
  assert.equal(result.before, result.after)
  const logged = ofType(log, 'PolicyUpdated').reduce(
    (sum, { data }) => sum + (data.metrics.tasksTrained ?? 0),
    0,
  )
  assert.is(result.before.tasksTrained, logged)
  assert.is(result.before.accepted, ofType(log, 'TaskAccepted').length)
  log.close()
})

test('another weight of the verdicts turns advantages; none of them leaves outcomes alone', () => {
  const log = openLogReader(unpackFixture(temporaryFolder()).log)
  const turned = rescore(log, ['learning.lambda=3']).changed.reduce((sum, group) => sum + group.turned, 0)
  assert.ok(turned > 0)
  const outcomes = rescore(log, ['learning.reward=outcome'])
  assert.ok(
    outcomes.after.trainedSteps < outcomes.before.trainedSteps,
    'groups that ended alike teach nothing',
  )
  log.close()
})

test('other thresholds flip decisions, each with both reasons', () => {
  const config = smallConfig({ run: { iterations: 8, evaluateEvery: 8 } })
  const log = recordLoop(temporaryFolder(), 'flips', config)
  const same = rescore(log, ['adaptation.confidence=0.5'])
  assert.equal(same.flipped, [])
  const accepted = ofType(log, 'TaskAccepted').length
  assert.ok(accepted > 0)
  const { flipped, after } = rescore(log, ['adaptation.evidence=bayes', 'adaptation.confidence=1'])
  assert.is(flipped.length, accepted)
  assert.is(after.accepted, 0)
  for (const { before, after } of flipped) {
    assert.is(before.accepted, true)
    assert.is(after.reason, 'too little evidence')
  }
  assert.throws(
    () => rescore(log, ['run.seed=3']),
    (error: unknown) => error instanceof RlError && error.code === 'rescore.no-effect',
  )
  log.close()
})

test('an iteration that is not completed is not counted', () => {
  const config = smallConfig({ run: { iterations: 8, evaluateEvery: 8 } })
  const root = temporaryFolder()
  const whole = recordLoop(root, 'whole', config)
  const open = ofType(whole, 'TaskAccepted')[0].data.iteration
  const cut = recordLoop(root, 'cut', config, (event) =>
    event.type === 'IterationCompleted' && event.data.iteration === open ? null : event,
  )
  const of = <T extends 'TrajectoryCompleted' | 'TaskAccepted' | 'TaskRejected'>(type: T) =>
    ofType(whole, type).filter(({ data }) => data.iteration === open)
  const played = of('TrajectoryCompleted').filter(({ data }) => data.purpose !== 'evaluation')
  const decided = [...of('TaskAccepted'), ...of('TaskRejected').filter(({ data }) => data.task !== null)]
  assert.ok(played.length > 0)
  const set = ['adaptation.evidence=bayes', 'adaptation.confidence=1']
  const [less, all] = [rescore(cut, set), rescore(whole, set)]
  assert.is(less.iterations, all.iterations - 1)
  assert.is(less.trajectories, all.trajectories - played.length)
  assert.is(less.steps, all.steps - played.reduce((sum, { data }) => sum + data.steps, 0))
  assert.is(less.decisions, all.decisions - decided.length)
  assert.is(less.before.accepted, all.before.accepted - of('TaskAccepted').length)
  assert.equal(
    less.flipped,
    all.flipped.filter(({ iteration }) => iteration !== open),
  )
  for (const log of [cut, whole]) log.close()
})

test('long rollouts are punished, and those that a limit cut off are left out, as in an update', () => {
  const log = openLogReader(unpackFixture(temporaryFolder()).log)
  const cut = new Set(
    ofType(log, 'TrajectoryCompleted').flatMap(({ data }) =>
      data.ended === 'step-limit' ? [data.rollout] : [],
    ),
  )
  assert.ok(cut.size > 0)
  const masked = rescore(log, ['learning.truncated=mask'])
  assert.ok(masked.after.trainedSteps < masked.before.trainedSteps)
  assert.ok(masked.changed.every(({ turned }) => turned === 0))
  const overlong = ['maxTokens=30', 'bufferTokens=20', 'factor=9'].map((word) => `learning.overlong.${word}`)
  const { before, after } = rescore(log, overlong)
  assert.is.not(after.push, before.push)
  log.close()
})

test('another scale turns no sign, and what it moves is told all the same', () => {
  const log = openLogReader(unpackFixture(temporaryFolder()).log)
  for (const scale of ['batch', 'none']) {
    const { changed, moved, before, after } = rescore(log, [`learning.scale=${scale}`])
    assert.equal(changed, [])
    assert.ok(moved > 0, scale)
    assert.is.not(before.push, after.push)
  }
  assert.is(rescore(log, ['learning.lambda=1']).moved, 0)
  log.close()
})

test('each key of the sections is computed or refused by name, with the reason', () => {
  const log = openLogReader(unpackFixture(temporaryFolder()).log)
  const sections = ['learning', 'adaptation', 'rewardModel', 'policy']
  const keys = configKeys().filter(({ path }) => path.length > 1 && sections.includes(path[0]))
  assert.ok(keys.length > 120)
  const computed: string[] = []
  for (const { path, values, fallback } of keys.filter(({ values }) => values !== null)) {
    const name = path.join('.')
    try {
      rescore(log, [`${name}=${JSON.stringify(fallback) ?? 'null'}`])
      computed.push(name)
    } catch (error) {
      // A key that may be absent has no default, and null is none of its values.
      if (fallback === undefined && (error as RlError).code === 'config.invalid') continue
      assert.is((error as RlError).code, 'rescore.no-effect', `${name} (${values})`)
      assert.match((error as RlError).message, `${name} changes nothing here: `)
    }
  }
  assert.ok(computed.includes('learning.expert.overlong.factor') && computed.includes('rewardModel.expected'))
  assert.not(computed.includes('rewardModel.normalisation'))
  assert.not(computed.some((name) => name.startsWith('policy.')))
  for (const [word, said] of [
    ['run.seed=3', 'run.seed is no key that votes'],
    ['learning={}', 'learning is no key that votes'],
    ['rewardModel.training.updates=3', 'rewardModel.training.updates changes nothing'],
    ['policy.training.clipHigh=0.4', 'policy.training.clipHigh changes nothing here: it acts on the loss'],
    ['policy.entropies=true', 'policy.entropies changes nothing here: the log has this column already'],
  ])
    assert.throws(
      () => rescore(log, [word]),
      (error: RlError) => error.message.includes(said),
    )
  assert.throws(() => rescore(log, ['learning.lamda=3']), /unknown key/)
  log.close()
})

/** A change of each key that is computed, with what it needs to show. The first word is the key's. */
const SHOWN: Readonly<Record<string, readonly string[]>> = {
  'learning.module': ['./test/fixtures/modules/rules.ts', 'learning.advantage=centred'],
  'learning.reward': ['outcome'],
  'learning.lambda': ['3'],
  'learning.advantage': ['task'],
  'learning.filter': ['variance'],
  'learning.rollouts': ['[truncated]'],
  'learning.weights': ['[negative-scale]'],
  'learning.options': ['{step-index: {minHolders: 9}}'],
  'learning.scale': ['none'],
  'learning.truncated': ['mask'],
  'learning.mixedOutcomes': ['true'],
  'learning.expert.policyAccuracyRange': ['[0.3, 0.6]'],
  'learning.expert.single': ['raw'],
  'learning.expert.stdFloor': ['2'],
  'learning.expert.overlong.maxTokens': ['30', 'learning.overlong.bufferTokens=20'],
  'learning.expert.overlong.bufferTokens': ['20', 'learning.overlong.maxTokens=30'],
  'learning.expert.overlong.factor': ['9', 'learning.overlong.maxTokens=30'],
  'learning.expert.deviation': ['sample'],
  'rewardModel.expected': ['false'],
  'adaptation.low': ['0.6'],
  'adaptation.high': ['0.3', 'adaptation.low=0.1'],
  'adaptation.rule': ['inclusive', 'adaptation.low=0.25', 'adaptation.high=0.75'],
  'adaptation.evidence': ['bayes', 'adaptation.confidence=1'],
  'adaptation.expert.confidence': ['1', 'adaptation.evidence=bayes'],
  'adaptation.expert.prior': ['[40, 1]', 'adaptation.evidence=bayes'],
}

test('each key that is computed changes a figure of some run', async () => {
  const root = temporaryFolder()
  const fixture = openLogReader(unpackFixture(root).log)
  const adapting = recordLoop(root, 'adapting', smallConfig({ run: { iterations: 40, evaluateEvery: 40 } }))
  const sections = ['learning', 'adaptation', 'rewardModel']
  const keys = configKeys().filter(({ path, values }) => values !== null && sections.includes(path[0]))
  const names = keys
    .map(({ path }) => path.join('.'))
    .filter((name) => {
      try {
        checkRescored([`${name}=1`])
        return true
      } catch {
        return false
      }
    })
  assert.equal(names.sort(), Object.keys(SHOWN).sort())
  await loadRules(
    changeConfig(loggedConfig(startsOf(fixture).first.data.config), [
      'learning.module=./test/fixtures/modules/rules.ts',
    ]),
  )
  for (const [name, [value, ...more]] of Object.entries(SHOWN)) {
    const shows = [fixture, adapting].some((log) => {
      const base = name === 'learning.module' ? [] : more
      const [without, found] = [
        rescore(log, base.length === 0 ? ['learning.stdFloor=0'] : base),
        rescore(log, [`${name}=${value}`, ...more]),
      ]
      return JSON.stringify({ ...without, idle: [] }) !== JSON.stringify({ ...found, idle: [] })
    })
    assert.ok(shows, `${name}=${value}`)
  }
  for (const log of [fixture, adapting]) log.close()
})

test.run()
