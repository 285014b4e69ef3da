/** The steps of a run: which ones count, and with which iteration they end. */
import fc from 'fast-check'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { stepsEnd } from '../../../src/actors/head/run-steps.ts'
import { loadConfig } from '../../../src/config.ts'
import type { EventData, EventType, LoggedEvent } from '../../../src/events/catalogue.ts'
import { playedSteps } from '../../../src/events/played-steps.ts'
import { playLoop, smallConfig } from '../loop.ts'

const dataOf = <T extends EventType>(log: readonly LoggedEvent[], type: T) =>
  log.flatMap((event) => (event.type === type ? [event.data as EventData<T>] : []))

test('with equal iterations a run ends as near to its budget as whole iterations can, and not before the second', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 500 }), fc.integer({ min: 1, max: 20_000 }), (each, budget) => {
      let iteration = 1
      while (!stepsEnd(each * (iteration - 1), iteration - 1, iteration, budget)) iteration++
      assert.ok(iteration >= 2)
      if (iteration > 2) assert.ok(Math.abs(each * iteration - budget) <= each / 2)
      else assert.ok(each * 2.5 >= budget)
    }),
  )
  assert.is(stepsEnd(1e9, 5, 6, undefined), false)
})

test('a rollout that went on from another counts its own steps alone', () => {
  const from = (firstStep: number) => ({ firstStep }) as EventData<'TrajectoryCompleted'>['segments'][number]
  assert.is(playedSteps({ steps: 9, segments: [from(0)] }), 9)
  assert.is(playedSteps({ steps: 9, segments: [from(4), from(6)] }), 5)
  assert.is(playedSteps({ steps: 9, segments: [] }), 9)
})

test('the last iteration of a budget of steps is measured, and nothing follows it', () => {
  const run = { iterations: 50, evaluateEvery: 50, steps: 150 }
  const { log, states } = playLoop({ config: smallConfig({ run, adaptation: { enabled: false } }) })
  const started = dataOf(log, 'IterationStarted')
  const last = started.at(-1)
  assert.is(last?.last, true)
  assert.ok(started.slice(0, -1).every((one) => one.last === undefined))
  const played = dataOf(log, 'TrajectoryCompleted').filter(({ purpose }) => purpose !== 'evaluation')
  const steps = played.reduce((sum, one) => sum + playedSteps(one), 0)
  assert.ok(Math.abs(steps - run.steps) <= 0.5 * (steps / last.iteration) + 12, `${steps}`)
  assert.equal(
    [...new Set(dataOf(log, 'EvaluationCompleted').map(({ iteration }) => iteration))],
    [0, last.iteration],
  )
  assert.is(dataOf(log, 'RunCompleted')[0]?.iterations, last.iteration)
  assert.match(states.head, /finished/)
})

test('steps that an endpoint cannot tell are no budget', () => {
  const set = [
    'policy.provider=openai',
    'policy.model=m',
    'policy.baseUrl=http://127.0.0.1:1/v1',
    'run.steps=100',
  ]
  const judged = ['rewardModel.mode=off', 'learning.reward=outcome', 'policy.training.enabled=false']
  assert.throws(() => loadConfig({ set: [...set, ...judged, 'environment.branching=random'] }), /run\.steps/)
})

test.run()
