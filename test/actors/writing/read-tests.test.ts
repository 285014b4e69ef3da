/** Unit tests that an update learns from, as they are read from the log. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { readTests } from '../../../src/actors/writing/read-tests.ts'
import { loadConfig } from '../../../src/config.ts'
import type { NewEvent } from '../../../src/events/catalogue.ts'
import { connectLog, type LogClient } from '../../../src/events/log-client.ts'
import { startTestHead, type TestHead } from '../../support/run.ts'
import { trajectory } from '../../support/toy.ts'

const NOTHING = new Uint8Array()
const config = loadConfig({ set: ['rewardModel.accuracyRange=[0.1, 0.9]'] })

let head: TestHead
let log: LogClient

function written(iteration: number, slot: string, index: number): NewEvent {
  return {
    type: 'UnitTestWritten',
    data: {
      ...{ iteration, purpose: 'train', slot, task: slot, index, rewardModelVersion: 0, text: 'a test' },
      ...{ test: { input: '1', output: '2' }, invalid: null, tokensI32: NOTHING, logprobsF32: NOTHING },
    },
  }
}

/** A program, and the votes of two tests for or against it. */
function judged(slot: string, index: number, success: boolean, votes: readonly (1 | -1)[]): NewEvent[] {
  const rollout = `${slot}/${index}`
  const request = {
    ...{ rollout, iteration: 1, index, purpose: 'train' as const, seed: [1, index] as const },
    ...{ split: 'train', slot, task: slot, policyVersion: 0, maxSteps: 1 },
  }
  const { data } = trajectory(request) as Extract<NewEvent, { type: 'TrajectoryCompleted' }>
  return [
    {
      type: 'TrajectoryCompleted',
      data: { ...data, outcome: { kind: 'scored', value: Number(success), success } },
    },
    {
      type: 'StepScored',
      data: {
        ...{ rollout, iteration: 1, step: 0, task: slot, rewardModelVersion: 0 },
        judgements: votes.map((score) => ({
          ...{ critique: '', score, tokensI32: NOTHING, logprobsF32: NOTHING },
        })),
        ...{ probability: null, progress: null },
      },
    },
  ]
}

const group = (slot: string) => ({
  ...{ slot, task: slot, purpose: 'train' as const, accuracy: { successes: 1, n: 2 } },
  rollouts: [`${slot}/0`, `${slot}/1`],
})

test.before(async () => {
  head = await startTestHead()
  head.service.append([
    { type: 'IterationStarted', data: { iteration: 1, policyVersion: 0, rewardModelVersion: 0 } },
    // The second test of a task tells its right program from its wrong one, the first does not.
    ...['b', 'a'].flatMap((slot) => [written(1, slot, 1), written(1, slot, 0), written(2, slot, 2)]),
    ...['b', 'a'].flatMap((slot) => [...judged(slot, 0, true, [-1, 1]), ...judged(slot, 1, false, [1, -1])]),
    // All programs of this task are right: nothing can be learned.
    ...[written(1, 'c', 0), ...judged('c', 0, true, [1, 1]), ...judged('c', 1, true, [1, 1])],
  ])
  log = connectLog({ bus: head.bus, run: 'test', actor: 'reward-model' })
})

test.after(async () => {
  log.close()
  await head.close()
})

test('tests come in order of groups and indices, and those of other iterations are left out', async () => {
  const groups = ['a', 'b', 'c'].map(group)
  const { tests, health } = await readTests(log, { iteration: 1, groups }, config.rewardModel)
  assert.equal(
    tests.map(({ id }) => id),
    ['1/a/test-0', '1/a/test-1', '1/b/test-0', '1/b/test-1'],
  )
  assert.equal(
    tests.map(({ advantage }) => Math.sign(advantage)),
    [-1, 1, -1, 1],
  )
  assert.is(health.tasksTrained, 2)
  assert.is(health.trainedTests, 4)
})

test('without groups there is nothing to learn from', async () => {
  const { tests, health } = await readTests(log, { iteration: 1, groups: [] }, config.rewardModel)
  assert.equal(tests, [])
  assert.is(health.tasksTrained, 0)
})

test.run()
