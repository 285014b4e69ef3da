/** The five deciders by given/when/then, over the events of a small simulated run. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { adapterDecider } from '../../src/actors/adapter/machine.ts'
import { environmentDecider } from '../../src/actors/environment/machine.ts'
import { headDecider } from '../../src/actors/head/machine.ts'
import { policyDecider } from '../../src/actors/policy/machine.ts'
import { rewardModelDecider } from '../../src/actors/reward-model/machine.ts'
import type { EventType, LoggedEvent } from '../../src/events/catalogue.ts'
import { given } from '../../src/testing/index.ts'
import { playLoop, runStarted, smallConfig } from '../actors/loop.ts'

const config = smallConfig()
const { log } = playLoop({ config })

/** The events before the first of a type (of those that fit), and it. */
function until(type: EventType, fits: (event: LoggedEvent) => boolean = () => true) {
  const at = log.findIndex((event) => event.type === type && fits(event))
  assert.ok(at >= 0, type)
  return { before: log.slice(0, at), event: log[at] }
}

test('environment: a run begins with its tasks, and an evaluation with its rollouts', () => {
  const decider = environmentDecider(config)
  given(decider, []).when(runStarted(config)).then(['TaskAdded/train/train-00000']).inState('loading')
  const { before, event } = until('IterationStarted')
  given(decider, before)
    .when(event)
    .then(['RolloutRequested/0/in-domain-00000/0', 'RolloutRequested/0/in-domain-00001/0'])
})

test('policy: its first version comes first, and nothing is trained before a group is whole', () => {
  const decider = policyDecider(config)
  given(decider, []).when(runStarted(config)).then(['PolicyUpdated/0']).inState('coldStarting')
  const { before, event } = until('TrajectoryJudged')
  given(decider, before).when(event).then([])
})

test('reward-model: starts from the first policy, and judges a trajectory as it comes', () => {
  const decider = rewardModelDecider(config)
  given(decider, []).when(runStarted(config)).then([])
  const first = until('PolicyUpdated')
  given(decider, first.before).when(first.event).then(['RewardModelUpdated/0'])
  const { before, event } = until(
    'TrajectoryCompleted',
    ({ data }) => 'iteration' in data && data.iteration === 1,
  )
  assert.is(event.type, 'TrajectoryCompleted')
  if (event.type !== 'TrajectoryCompleted') return
  given(decider, before)
    .when(event)
    .then([`TrajectoryJudged/${event.data.rollout}`])
})

test('adapter: a task that is always solved is to become harder', () => {
  const decider = adapterDecider(config)
  const { data } = until('TaskProposed').event
  assert.ok('parent' in data)
  const asked = log.findIndex((event, at) => {
    if (event.type !== 'TrajectoryJudged') return false
    return given(decider, log.slice(0, at)).when(event).outputs.length > 0
  })
  const { outputs } = given(decider, log.slice(0, asked)).when(log[asked])
  assert.is(outputs.length, 1)
  assert.is(outputs[0].type === 'job' && outputs[0].job.kind, 'rewrite')
})

test('head: the first iteration begins when both models are there; what differs is told', () => {
  const decider = headDecider(config)
  const { before, event } = until('RewardModelUpdated')
  given(decider, before)
    .when(event)
    .then([
      {
        type: 'event',
        event: {
          type: 'IterationStarted',
          data: { iteration: 0, policyVersion: 0, rewardModelVersion: 0 },
        },
      },
    ])
  assert.throws(
    () => given(decider, before).when(event).then(['IterationStarted/1']),
    /head: other outputs after RewardModelUpdated/,
  )
  assert.throws(() => given(decider, before).when(event).inState('nowhere'), /head: another state/)
})

test.run()
