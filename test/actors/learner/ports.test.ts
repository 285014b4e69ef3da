/** Learners behind the port: of models whose weights are not here, and with a trainer outside. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import type { Train } from '../../../src/actors/decider/jobs.ts'
import { fixedLearner, scriptedPolicyLearner } from '../../../src/actors/learner/fixed-learner.ts'
import { trainedOutside } from '../../../src/actors/learner/ports.ts'
import type { JobContext } from '../../../src/actors/runtime/worker.ts'
import { loadConfig } from '../../../src/config.ts'
import type { EventData, NewEvent } from '../../../src/events/catalogue.ts'

const job: Train = { iteration: 3, version: 3, parentVersion: 2, groups: [], seed: [1, 2] }
const context = {} as JobContext

function versionIn(events: readonly NewEvent[]): EventData<'PolicyUpdated'> {
  assert.is(events.length, 1)
  return events[0].data as EventData<'PolicyUpdated'>
}

test('versions of a model without weights here are unchanged, and tell what was measured', async () => {
  const asked: number[] = []
  const learner = fixedLearner(
    'reward-model',
    async () => ({ tried: 1 }),
    async ({ version }) => {
      asked.push(version)
      return { metrics: { measured: version }, stopped: 'not here' }
    },
  )
  const first = await learner.begin({ seed: [0, 0] }, context)
  assert.is(first[0].type, 'RewardModelUpdated')
  const { version, parentVersion, metrics, stopped } = versionIn(first)
  assert.equal(
    { version, parentVersion, metrics, stopped },
    {
      ...{ version: 0, parentVersion: null, metrics: { tried: 1 }, stopped: null },
    },
  )
  const next = versionIn(await learner.update(job, context))
  assert.equal([next.version, next.parentVersion, next.checkpoint, next.samples], [3, 2, null, 0])
  assert.equal([next.metrics, next.stopped], [{ measured: 3 }, 'not here'])
  assert.equal(asked, [3])
})

test('a version 0 that cannot be tried out is not made', async () => {
  const refused = fixedLearner(
    'policy',
    () => Promise.reject(new Error('wrong key')),
    async () => ({ metrics: {}, stopped: null }),
  )
  const error = await refused.begin({ seed: [0, 0] }, context).catch((thrown: unknown) => thrown)
  assert.match(String(error), /wrong key/)
})

test('all versions of a scripted policy count as simulated', async () => {
  const learner = scriptedPolicyLearner()
  assert.equal(versionIn(await learner.begin({ seed: [0, 0] }, context)).metrics, { simulated: 1 })
  const next = versionIn(await learner.update(job, context))
  assert.equal([next.metrics, next.stopped], [{ simulated: 1 }, 'a script does not learn'])
})

for (const role of ['policy', 'reward-model'] as const)
  test(`${role}: with a trainer outside version 0 is the provider's, and a batch without samples asks nobody`, async () => {
    const own = fixedLearner(
      role,
      async () => ({ own: 1 }),
      () => Promise.reject(new Error('the provider does not learn')),
    )
    const batch = { samples: [], trainedOn: [], health: { groups: 0 }, none: 'nothing to learn' }
    const { run, policy, rewardModel } = loadConfig({})
    const section = role === 'policy' ? policy : rewardModel
    const learner = trainedOutside(own, role, async () => batch, { section, run, compute: null })
    assert.equal(versionIn(await learner.begin({ seed: [0, 0] }, context)).metrics, { own: 1 })
    const next = await learner.update(job, context)
    assert.is(next[0].type, role === 'policy' ? 'PolicyUpdated' : 'RewardModelUpdated')
    const { version, metrics, stopped } = versionIn(next)
    assert.equal([version, metrics, stopped], [3, { groups: 0 }, 'nothing to learn'])
  })

test.run()
