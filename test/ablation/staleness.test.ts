import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { settingsOf, wordsOf } from '../../src/ablation/settings.ts'
import { stalenessOf } from '../../src/ablation/staleness.ts'
import { loadConfig } from '../../src/config.ts'

/** A log with the parts of its events that are read. */
const logOf = (...events: readonly (readonly [string, object])[]): Parameters<typeof stalenessOf>[0] => ({
  *events() {
    yield* events.map(([type, data]) => ({ type, data })) as never[]
  },
})
const played = (rollout: string, policyVersion: number, purpose = 'train') =>
  ['TrajectoryCompleted', { rollout, policyVersion, purpose }] as const
const updated = (parentVersion: number | null, trainedOn: readonly string[], metrics = {}, stopped = null) =>
  ['PolicyUpdated', { parentVersion, trainedOn, metrics, stopped }] as const

test('the age of a rollout is that of its policy when another one learns from it', () => {
  const found = stalenessOf(
    logOf(
      updated(null, []),
      played('1/x/0', 0),
      played('e', 0, 'evaluation'),
      updated(0, ['1/x/0'], { effectiveShare: 1, weightsCutShare: 0 }),
      played('2/x/0', 0),
      played('2/x/1', 1),
      updated(2, ['2/x/0', '2/x/1'], { effectiveShare: 0.5, weightsCutShare: 0.1 }),
    ),
  )
  assert.equal(found, {
    ...{ trained: 3, meanAge: 1, mostAge: 2, updates: 2, stopped: 0 },
    ...{ effectiveShare: 0.75, weightsCutShare: 0.05 },
  })
  assert.is(stalenessOf(logOf(played('1/x/0', 0), updated(0, []))), null)
})

test('one word names all settings of staleness, and each is a config that plays without a barrier', () => {
  const settings = settingsOf('staleness')
  assert.is(settings.length, 8)
  assert.equal(settingsOf('staleness,outcome-only').length, 9)
  for (const setting of settings) {
    const { run, policy } = loadConfig({ set: wordsOf(setting, 1, 9_000) })
    assert.is(setting.startsWith(`staleness-${run.maxStaleness}`), true, setting)
    assert.is(run.barrier, run.maxStaleness === 0 ? undefined : false)
    assert.is(policy.training.expert.mismatch?.kind, setting.endsWith('weights') ? 'truncate' : undefined)
  }
})

test.run()
