/** What the environment's decider asks to be played. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import type { Output } from '../../../src/actors/decider/decider.ts'
import {
  branchAfter,
  branchAfterVerdict,
  noteComplaint,
  noteSuccess,
} from '../../../src/actors/environment/branches.ts'
import {
  emptyEnvironmentContext,
  playsCandidate,
  takePlayed,
} from '../../../src/actors/environment/context.ts'
import { playIteration, startEvaluation } from '../../../src/actors/environment/playing.ts'
import { newSlot } from '../../../src/actors/environment/slots.ts'
import type { EventData } from '../../../src/events/catalogue.ts'
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

const requestsOf = (outputs: readonly Output[]) =>
  outputs.flatMap((one) =>
    one.type === 'event' && one.event.type === 'RolloutRequested' ? [one.event.data] : [],
  )

function configWith(environment: object) {
  const simulated = { name: 'simulated', tasks: 6, tasksPerIteration: 2, rolloutsPerTask: 4, minGroupSize: 2 }
  return smallConfig({ environment: { ...simulated, maxSteps: 20, ...environment } })
}

const ended = (rollout: string, steps: number, success: boolean) =>
  ({
    ...{ rollout, purpose: 'train', iteration: 1, slot: 'train/0', task: 'one', steps },
    outcome: { kind: 'scored', value: success ? 1 : 0, success },
  }) as EventData<'TrajectoryCompleted'>

test('branches: half of the group is asked for at once, and each of the rest as its root ends', () => {
  const branching = configWith({ branching: 'random' })
  const context = contextWith('one')
  const asked = requestsOf(playIteration(context, STARTED, branching, branching.run.seed))
  assert.equal(
    asked.map(({ index }) => index),
    [0, 1],
  )
  assert.is(context.books.get(1)?.expected, 4)
  const [branch] = requestsOf(branchAfter(context, ended('1/train/0/1', 9, true), branching))
  assert.equal(
    [branch?.rollout, branch?.start?.rollout, branch?.maxSteps],
    ['1/train/0/3', '1/train/0/1', 20],
  )
  assert.ok((branch?.start?.step ?? 0) >= 1 && (branch?.start?.step ?? 9) < 9)
  assert.equal(branchAfter(context, ended('1/train/0/3', 9, true), branching), [])
  const failed = { rollout: '1/train/0/0', purpose: 'train', iteration: 1, slot: 'train/0' }
  const [plain] = requestsOf(branchAfter(context, failed as EventData<'RolloutFailed'>, branching))
  assert.equal([plain?.index, plain?.start], [2, undefined])
})

test('branches by verdicts wait until the root is judged', () => {
  const branching = configWith({ branching: 'verdict' })
  const context = contextWith('one')
  playIteration(context, STARTED, branching, branching.run.seed)
  assert.equal(branchAfter(context, ended('1/train/0/0', 9, true), branching), [])
  const judged = {
    ...{ rollout: '1/train/0/0', purpose: 'train', iteration: 1, slot: 'train/0', task: 'one' },
    ...{ steps: { good: 7, bad: 1, undecided: 1 }, complaints: [{ step: 4, critique: 'it went back' }] },
  } as unknown as EventData<'TrajectoryJudged'>
  const [branch] = requestsOf(branchAfterVerdict(context, judged, branching))
  assert.equal([branch?.index, branch?.start], [2, { rollout: '1/train/0/0', step: 4 }])
})

test('hints: an unsolved task is asked again first, once, and half of its rollouts read the complaint', () => {
  const hinted = configWith({ hints: true })
  const context = contextWith('one', 'two', 'three', 'four')
  const slot = context.slots.get('train/3')!
  const judged = (rollout: string, critique: string) =>
    ({
      ...{ rollout, slot: 'train/3', task: 'four', purpose: 'train', iteration: 1 },
      complaints: [{ step: 2, critique }],
    }) as unknown as EventData<'TrajectoryJudged'>
  noteComplaint(context, judged('1/train-3/1', 'second'))
  noteComplaint(context, judged('1/train-3/0', 'first'))
  assert.is(slot.complaint?.text, 'first', 'the order of arrival does not count')
  const asked = requestsOf(playIteration(context, { ...STARTED, iteration: 2 }, hinted, 1))
  const own = asked.filter(({ task }) => task === 'four')
  assert.equal(
    own.map(({ hint }) => hint),
    [undefined, 'first', undefined, 'first'],
  )
  assert.ok(asked.filter(({ task }) => task !== 'four').every(({ hint }) => hint === undefined))
  assert.is(slot.complaint, null)
})

test('starts: a group begins inside of a success of its task, and without one at the start', () => {
  const inside = configWith({ starts: 1 })
  const context = contextWith('one', 'two')
  noteSuccess(context, ended('1/train/0/2', 7, true))
  noteSuccess(context, { ...ended('1/train/0/1', 5, true), slot: 'train/1', task: 'other' })
  const asked = requestsOf(playIteration(context, { ...STARTED, iteration: 2 }, inside, 1))
  const starts = (task: string) => new Set(asked.flatMap((one) => (one.task === task ? [one.start] : [])))
  const [start] = [...starts('one')].map((one) => one ?? { rollout: '', step: 0 })
  assert.is(start?.rollout, '1/train/0/2')
  assert.ok(start && start.step >= 1 && start.step < 7)
  assert.is(new Set([...starts('one')].map((one) => one?.step)).size, 1)
  assert.equal([...starts('two')], [undefined])
})

test('traces: a group whose task has one follows it, in the share of groups that is asked for', () => {
  const traced = (share: number) => {
    const context = contextWith('one', 'two')
    context.slots.set('train/0', newSlot('one', null, true))
    const config = configWith({ traces: { file: 'traces.jsonl', patches: 2, share } })
    const asked = requestsOf(playIteration(context, STARTED, config, config.run.seed))
    return (task: string) => new Set(asked.flatMap((one) => (one.task === task ? [one.patches] : [])))
  }
  assert.equal([...traced(1)('one')], [2])
  assert.equal([...traced(1)('two')], [undefined])
  assert.equal([...traced(0)('one')], [undefined])
})

test('phases: the limit of steps is that of the phase', () => {
  const { run, ...rest } = configWith({})
  const phased = { ...rest, run: { ...run, phases: [{ from: 1, maxSteps: 7 }, { from: 2 }] } }
  const limits = (iteration: number) =>
    requestsOf(playIteration(contextWith('one'), { ...STARTED, iteration }, phased, 1)).map(
      ({ maxSteps }) => maxSteps,
    )
  assert.equal([new Set(limits(1)), new Set(limits(2))], [new Set([7]), new Set([20])])
})

test.run()
