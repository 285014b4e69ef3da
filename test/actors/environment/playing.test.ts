/** What the environment's decider asks to be played. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import {
  emptyEnvironmentContext,
  playsCandidate,
  takePlayed,
} from '../../../src/actors/environment/context.ts'
import { playIteration, startEvaluation } from '../../../src/actors/environment/playing.ts'
import { smallConfig } from '../loop.ts'

const config = smallConfig()
const STARTED = { iteration: 1, policyVersion: 0, rewardModelVersion: 0 }

function contextWith(...tasks: readonly string[]) {
  const context = emptyEnvironmentContext()
  for (const [index, active] of tasks.entries())
    context.slots.set(`train/${index}`, { active, candidate: null, strikes: 0, last: null, busy: null })
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

test.run()
