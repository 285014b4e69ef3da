/** What the reward model's decider asks of a judge about a batch. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { judge } from '../../../src/actors/reward-model/asking.ts'
import { emptyBatches, enterInBatch } from '../../../src/actors/reward-model/batches.ts'
import { smallConfig } from '../loop.ts'

const { run } = smallConfig()

/** A context with a batch of rollouts of so many steps, named in order of their arrival. */
function batchOf(...steps: readonly number[]) {
  const batches = emptyBatches('sampled')
  const members = steps.map((count, index) => ({ rollout: `r${index}`, steps: count, index }))
  for (const member of members.toReversed())
    enterInBatch(batches, { name: 'b', rewardModelVersion: 3, rollouts: members.length }, {
      iteration: 2,
      slot: 'train/0',
      task: 't',
      purpose: 'train',
      ...member,
    } as never)
  return { batches, batch: batches.byName.get('b')! }
}

test('a judge is asked about the rollouts of a batch in order of their index', () => {
  const { batches, batch } = batchOf(2, 1)
  const [asked] = judge({ batches }, batch, run)
  if (asked?.type !== 'job' || asked.job.kind !== 'judge') throw new Error('a judge is asked')
  assert.is(asked.job.input.rewardModelVersion, 3)
  assert.equal(
    asked.job.input.rollouts.map(({ rollout, steps }) => ({ rollout, steps })),
    [
      { rollout: 'r0', steps: 2 },
      { rollout: 'r1', steps: 1 },
    ],
  )
  assert.is(batches.byName.size, 1)
})

test('a batch without steps is judged at once, and closed', () => {
  const { batches, batch } = batchOf(0)
  const outputs = judge({ batches }, batch, run)
  assert.equal(
    outputs.map((output) => output.type === 'event' && output.event.type),
    ['TrajectoryJudged'],
  )
  assert.is(batches.byName.size, 0)
})

test.run()
