/** Rules of the environment's decider: what its machine asks before a transition, and what it does on one. */
import type { Config } from '../../config.ts'
import { seedOf } from '../../random.ts'
import { bookOf, enterRollout, groupOver } from '../decider/books.ts'
import { ask, askFor, decide, doneBy, fold, when } from '../decider/fold.ts'
import { slotName } from '../decider/names.ts'
import { allTasksThere, countTask, evaluationDue, sourceOf, splitsOf } from '../decider/task-counts.ts'
import { branchAfter, branchAfterVerdict, noteComplaint, noteSuccess } from './branches.ts'
import { type EnvironmentContext, playsCandidate, takePlayed } from './context.ts'
import { measure, resultOf } from './evaluation.ts'
import { playDrawn, playIteration, startEvaluation } from './playing.ts'
import { aboutTask, acceptCandidate, decisionOnGroup, enterGroup, newSlot, rejectCandidate } from './slots.ts'

type Context = EnvironmentContext
type Guarded = { readonly context: Context }

export function environmentGuards({ run, environment, evaluation }: Config) {
  return {
    tasksThere: ({ context }: Guarded) => allTasksThere(context.taskCounts, evaluation),
    isMeasured: when(['TrajectoryCompleted', 'RolloutFailed'], (_, { purpose }) => purpose === 'evaluation'),
    isColdStart: when('IterationStarted', (_, { iteration }) => iteration === 0),
    evaluationDue: when(
      'PolicyUpdated',
      (context: Context, { version, last }) =>
        version > 0 && evaluationDue(version, run, evaluation, last === true || version === context.last),
    ),
    anythingOver: ({ context }: Guarded) => context.played !== null || context.measured !== null,
    evaluationOver: ({ context }: Guarded) => context.measured !== null,
    candidateProven: ({ context }: Guarded) => context.played?.decision?.accepted === true,
    candidateRefuted: ({ context }: Guarded) => context.played?.decision?.accepted === false,
    lostTooMany: ({ context: { played } }: Guarded) =>
      played !== null && played.group.scored.length < environment.minGroupSize,
    nothingPlayed: ({ context }: Guarded) => context.books.size + context.measurements.size === 0,
  }
}

export function environmentActions(config: Config) {
  const { run, environment, evaluation, adaptation } = config
  const rollouts = { seed: run.seed, maxSteps: environment.maxSteps }
  return {
    askForTasks: decide<Context>(() => [
      askFor(
        'load-tasks',
        doneBy('TaskAdded', { split: 'train', slot: slotName('train', 0) }),
        {
          splits: splitsOf(evaluation).map((split) => ({
            split,
            source: sourceOf(split, environment),
            limit: split === 'train' ? environment.tasks : evaluation.tasks,
          })),
          seed: seedOf(run.seed, 'tasks'),
        },
        run.deadlines.expert.loadTasksSeconds,
      ),
    ]),
    enterTask: fold('TaskAdded', (context: Context, added) => {
      countTask(context.taskCounts, added)
      const { split, slot, task, trace } = added
      if (split === 'train') {
        context.slots.set(slot, newSlot(task.id, aboutTask(task), trace !== undefined))
        return
      }
      const ofSplit = context.evaluationTasks.get(split) ?? []
      ofSplit.push({ slot, task: task.id })
      context.evaluationTasks.set(split, ofSplit)
      context.splits.set(slot, split)
    }),
    enterCandidate: fold('TaskProposed', (context: Context, proposal) => {
      const { slot, task, parent, direction, parentAccuracy } = proposal
      const held = context.slots.get(slot)
      // With staleness the slot may have gone on since this was asked for. The decision is on the task that is being
      // played.
      if (!held || held.active !== parent || playsCandidate(context, slot)) return
      held.candidate = { task: task.id, about: aboutTask(task), parent, direction, parentAccuracy }
    }),
    playIteration: ask('IterationStarted', (context: Context, started) =>
      playIteration(context, started, config, run.seed),
    ),
    evaluateColdStart: decide((context: Context) => startEvaluation(context, 0, evaluation, rollouts)),
    evaluateVersion: ask('PolicyUpdated', (context: Context, { version }) =>
      startEvaluation(context, version, evaluation, rollouts),
    ),
    enterRollout: ask(['TrajectoryCompleted', 'RolloutFailed'], (context: Context, rollout) => {
      const book = bookOf(context.books, rollout)
      if (!book) return []
      const drawn = enterRollout(book, rollout)
      if ('outcome' in rollout && environment.starts !== undefined) noteSuccess(context, rollout)
      const group = book.groups.get(rollout.slot)
      if (group && groupOver(group)) context.played = { book, group, decision: null }
      return playDrawn(context, book, drawn, config, run.seed)
    }),
    branchRollout: ask(['TrajectoryCompleted', 'RolloutFailed'], (context: Context, rollout) =>
      branchAfter(context, rollout, config),
    ),
    hearJudged: ask('TrajectoryJudged', (context: Context, judged) => {
      if (environment.hints) noteComplaint(context, judged)
      return branchAfterVerdict(context, judged, config)
    }),
    measureRollout: fold(['TrajectoryCompleted', 'RolloutFailed'], (context: Context, rollout) => {
      const { iteration, slot } = rollout
      const name = `${iteration}/${context.splits.get(slot)}`
      const measurement = context.measurements.get(name)
      if (!measurement) return
      measure(measurement, rollout)
      if (measurement.ended < measurement.expected) return
      context.measurements.delete(name)
      context.measured = measurement
    }),
    completeEvaluation: decide((context: Context) => {
      const measurement = context.measured!
      context.measured = null
      return [resultOf(measurement)]
    }),
    weighCandidate: decide((context: Context) => {
      const { played, slots } = context
      if (played?.group.purpose === 'candidate')
        context.played = { ...played, decision: decisionOnGroup(slots, played, config) }
      return []
    }),
    acceptCandidate: decide((context: Context) => [
      acceptCandidate(context.slots, takePlayed(context), adaptation),
    ]),
    rejectCandidate: decide((context: Context) => [
      rejectCandidate(context.slots, takePlayed(context), adaptation),
    ]),
    strikeTask: freeSlot((strikes) => strikes + 1),
    clearTask: freeSlot(() => 0),
  }
}

/** Frees a slot whose training group is over, and sets the strikes against its task. */
function freeSlot(strikesAfter: (strikes: number) => number) {
  return decide((context: Context) => {
    const { group } = takePlayed(context)
    const slot = context.slots.get(group.slot)!
    slot.busy = null
    enterGroup(slot, group)
    slot.strikes = strikesAfter(slot.strikes)
    return []
  })
}
