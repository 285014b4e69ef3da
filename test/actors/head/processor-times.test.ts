import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { openProcessorTimes } from '../../../src/actors/head/processor-times.ts'
import type { NewEvent } from '../../../src/events/catalogue.ts'

const starts = (iteration: number): NewEvent => ({
  type: 'IterationStarted',
  data: { iteration, policyVersion: 0, rewardModelVersion: 0 },
})
const ends = (iteration: number): NewEvent => ({
  type: 'IterationCompleted',
  data: {
    iteration,
    accuracy: { successes: 0, n: 0 },
    rollouts: { completed: 0, failed: 0, missing: 0 },
    tasks: [],
  } as never,
})
const policy = { role: 'policy', worker: 'policy/a', process: 'a', startedAt: 100 } as const
const judge = { role: 'reward-model', worker: 'reward-model/b', process: 'b', startedAt: 100 } as const

test('an iteration has the processor time that its roles told since it began', () => {
  const times = openProcessorTimes(100)
  times.hear({ ...policy, processorMs: 4_000 })
  assert.is(times.see(starts(1)), null)
  times.hear({ ...policy, processorMs: 5_000 })
  times.hear({ ...judge, processorMs: 300 })
  times.hear({ ...policy, processorMs: 5_500 })
  assert.equal(times.see(ends(1))?.data, { iteration: 1, ms: { policy: 1_500, 'reward-model': 300 } })

  times.hear({ ...policy, processorMs: 9_000 })
  times.see(starts(2))
  times.hear({ ...policy, processorMs: 9_100 })
  const evaluated = { type: 'TrajectoryCompleted', data: { iteration: 2, purpose: 'evaluation' } }
  assert.equal(times.see(evaluated as never)?.data.ms, { policy: 100 })
  times.hear({ ...policy, processorMs: 20_000 })
  times.hear({ ...judge, processorMs: 700 })
  assert.is(times.see(evaluated as never), null)
  const learned = { type: 'RewardModelUpdated', data: {} }
  const late = times.see(learned as never)?.data
  assert.equal(
    late,
    { iteration: 2, ms: { 'reward-model': 400 } },
    'the judge learned on beside the evaluation',
  )
  times.hear({ ...judge, processorMs: 900 })
  assert.is(times.see(learned as never), null)
  assert.is(times.see(ends(2)), null, 'its evaluation is not in it')

  times.see(starts(3))
  times.see(learned as never)
  times.hear({ ...policy, processorMs: 20_200 })
  assert.equal(times.see(ends(3))?.data.ms, { policy: 200 }, 'without an evaluation the end tells all')

  times.see(starts(0))
  assert.is(
    times.see({ type: 'TrajectoryCompleted', data: { iteration: 0, purpose: 'evaluation' } } as never),
    null,
  )
  times.hear({ ...judge, processorMs: 9_000 })
  assert.is(times.see(learned as never), null, 'the start of a judge is no iteration')
  assert.is(times.see(ends(0)), null, 'iteration 0 only evaluates')
})

test('processes count once, and not what they computed before this head began', () => {
  const times = openProcessorTimes(500)
  times.see(starts(4))
  times.hear({ ...policy, processorMs: 60_000 })
  times.hear({ ...policy, processorMs: 60_200 })
  times.hear({ ...policy, worker: 'policy/other', processorMs: 60_200 })
  times.hear({ ...policy, worker: 'policy/c', process: 'c', startedAt: 600, processorMs: 50 })
  const { processorMs: _, ...older } = { ...judge, processorMs: 1 }
  times.hear(older)
  times.hear({ ...policy, processorMs: 10 })
  assert.equal(times.see(ends(4))?.data.ms, { policy: 250 }, 'and a lower figure takes nothing back')
  assert.is(times.see(ends(5)), null, 'this head did not begin it')
})

test('no time is lost if iterations overlap', () => {
  const times = openProcessorTimes(0)
  times.see(starts(1))
  times.hear({ ...policy, processorMs: 1_000 })
  times.see(starts(2))
  times.hear({ ...policy, processorMs: 1_500 })
  assert.equal(times.see(ends(1))?.data, { iteration: 1, ms: { policy: 1_500 } })
  times.see(starts(3))
  times.hear({ ...policy, processorMs: 1_700 })
  assert.equal(times.see(ends(2))?.data, { iteration: 2, ms: { policy: 200 } })
})

test('invented processes do not fill the memory', () => {
  const times = openProcessorTimes(0)
  times.see(starts(1))
  for (let i = 0; i < 2_000; i++)
    times.hear({ ...policy, worker: `policy/${i}`, process: `${i}`, processorMs: 1 })
  assert.equal(times.see(ends(1))?.data.ms, { policy: 1_024 })
})

test.run()
