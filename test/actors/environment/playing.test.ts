/** What the environment's decider asks to be played. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import {
  emptyEnvironmentContext,
  playsCandidate,
  takePlayed,
} from '../../../src/actors/environment/context.ts'
import { playIteration, startEvaluation } from '../../../src/actors/environment/playing.ts'
import { newSlot } from '../../../src/actors/environment/slots.ts'
import { smallConfig } from '../loop.ts'

const config = smallConfig()
const STARTED = { iteration: 1, policyVersion: 0, rewardModelVersion: 0 }

function contextWith(...tasks: readonly string[]) {
  const context = emptyEnvironmentContext()
  for (const [index, active] of tasks.entries()) context.slots.set(`train/${index}`, newSlot(active))
  return context
}

test('an iteration is planned first, then each of its rollouts is requested', () => {
  const context = contextWith('one', 'two')
  const [plan, ...requests] = playIteration(context, STARTED, config, config.run.seed)
  assert.is(plan?.type === 'event' && plan.event.type, 'IterationPlanned')
  assert.is(requests.length, 2 * config.environment.rolloutsPerTask)
  assert.equal([...context.books.keys()], [1])
})

test('an iteration without tasks is planned, but nothing of it is being played', () => {
  const context = contextWith()
  assert.is(playIteration(context, STARTED, config, config.run.seed).length, 1)
  assert.is(context.books.size, 0)
})

test('a slot plays its candidate from the plan on until the group is taken', () => {
  const context = contextWith('one')
  const slot = context.slots.get('train/0')!
  slot.candidate = {
    task: 'harder one',
    parent: 'one',
    direction: 'harder',
    parentAccuracy: { successes: 4, n: 4 },
  }
  assert.not(playsCandidate(context, 'train/0'))
  playIteration(context, STARTED, config, config.run.seed)
  assert.ok(playsCandidate(context, 'train/0'))
  const book = context.books.get(1)!
  const group = book.groups.get('train/0')!
  book.ended = book.expected
  context.played = { book, group, decision: null }
  assert.is(takePlayed(context).group, group)
  assert.is(context.played, null)
  assert.is(context.books.size, 0, 'the last group takes its book along')
  assert.not(playsCandidate(context, 'train/0'))
})

test('an evaluation is entered by its iteration and split', () => {
  const context = contextWith()
  context.evaluationTasks.set('in-domain', [{ slot: 'in-domain/0', task: 'e' }])
  const { run, environment, evaluation } = config
  const rollouts = { seed: run.seed, maxSteps: environment.maxSteps }
  const requests = startEvaluation(context, 2, evaluation, rollouts)
  assert.equal([...context.measurements.keys()], ['2/in-domain'])
  assert.is(requests.length, evaluation.rollouts)
})

test('rules of size and horizon change what is asked for, and the plan says so', () => {
  const rules = smallConfig({
    environment: {
      ...{ name: 'simulated', tasks: 6, tasksPerIteration: 3, rolloutsPerTask: 12, minGroupSize: 2 },
      ...{ maxSteps: 20, groupSize: 'by-success', horizon: 'task-limit' },
    },
  })
  const context = contextWith('new', 'easy')
  const easy = context.slots.get('train/1')!
  easy.history = [{ successes: 8, n: 8 }]
  easy.longestSuccess = 5
  const [plan, ...requests] = playIteration(context, STARTED, rules, 1)
  assert.ok(plan?.type === 'event' && plan.event.type === 'IterationPlanned')
  // p = 9 / 10, so 12 (1 - 0.9) / 0.4 = 3 rollouts.
  assert.equal(
    plan.event.data.groups.map(({ rollouts }) => rollouts),
    [undefined, 3],
  )
  assert.is(requests.length, 15)
  const limits = requests.flatMap((one) =>
    one.type === 'event' && one.event.type === 'RolloutRequested' ? [one.event.data.maxSteps] : [],
  )
  assert.equal([...new Set(limits)], [20, 8])
  assert.is(context.books.get(1)?.expected, 15)
  assert.is(context.books.get(1)?.groups.get('train/1')?.asked, 3)
})

test.run()
