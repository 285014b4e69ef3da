/** Rules of the head's decider: what its machine asks before a transition, and what it does on one. */
import type { Config } from '../../config.ts'
import { playedSteps } from '../../events/played-steps.ts'
import { bookkeeping } from '../decider/books.ts'
import { decide, emitEvent, fold } from '../decider/fold.ts'
import { allTasksThere, countTask } from '../decider/task-counts.ts'
import {
  countOwed,
  type HeadContext,
  iterationOver,
  iterationResult,
  mayBegin,
  newExtras,
  noOutcomes,
  rolloutsOutstanding,
  splitsDueOf,
} from './iterations.ts'
import { beginIteration, skip, tick, timeEnds } from './run-clock.ts'
import { stepsEnd } from './run-steps.ts'

type Guarded = { readonly context: HeadContext }

export function headGuards({ run, evaluation }: Config) {
  return {
    allPrepared: ({ context }: Guarded) =>
      context.policyVersion >= 0 &&
      context.rewardModelVersion >= 0 &&
      allTasksThere(context.taskCounts, evaluation),
    noTasks: ({ context }: Guarded) =>
      noOutcomes(context) && context.books.get(context.completed + 1)?.expected === 0,
    noOutcomes: ({ context }: Guarded) => noOutcomes(context),
    iterationOver: ({ context }: Guarded) => iterationOver(context),
    allIterationsOver: ({ context: { completed, last } }: Guarded) => completed === (last ?? run.iterations),
    mayBeginNext: ({ context }: Guarded) => mayBegin(context, run),
    rolloutsOutstanding: ({ context }: Guarded) => rolloutsOutstanding(context),
    rolloutsOver: ({ context }: Guarded) => !rolloutsOutstanding(context),
  }
}

export function headActions(config: Config) {
  const { run, evaluation } = config
  const judging = config.rewardModel.mode !== 'off'
  const judgesEvaluations = evaluation.judge && judging
  return {
    ...bookkeeping<HeadContext>(),
    noteStart: fold('RunStarted', (context: HeadContext, _, { time }) => {
      context.startedMs = time
      tick(context.clock, time)
    }),
    noteTime: decide(({ clock }: HeadContext, { time }) => {
      tick(clock, time)
      return []
    }),
    skipPause: fold('RunResumed', ({ clock }: HeadContext, _, { time }) => skip(clock, time)),
    countTask: fold('TaskAdded', ({ taskCounts }: HeadContext, added) => countTask(taskCounts, added)),
    notePolicy: fold('PolicyUpdated', (context: HeadContext, { version, last }) => {
      context.policyVersion = version
      if (last) context.last ??= Math.max(version, context.newest)
      const open = version > 0 && context.extras.get(version)
      if (open) open.splitsDue = splitsDueOf(version, run, evaluation, version === context.last)
    }),
    noteRewardModel: fold('RewardModelUpdated', (context: HeadContext, { version }) => {
      context.rewardModelVersion = version
    }),
    noteIteration: fold('IterationStarted', (context: HeadContext, { iteration, last }, { time }) => {
      const open = newExtras(time)
      if (iteration === 0) open.splitsDue = splitsDueOf(0, run, evaluation, false)
      if (last) context.last = iteration
      context.extras.set(iteration, open)
      beginIteration(context.clock, iteration)
    }),
    countRollout: fold(['TrajectoryCompleted', 'RolloutFailed'], ({ extras }: HeadContext, rollout) => {
      const open = extras.get(rollout.iteration)
      if (!open) return
      const isScored = 'outcome' in rollout && rollout.outcome.kind === 'scored'
      if (rollout.purpose !== 'evaluation' && 'outcome' in rollout) open.playedSteps += playedSteps(rollout)
      if (rollout.purpose === 'evaluation') {
        if (isScored && judgesEvaluations) open.evaluationToJudge++
      } else if (!('outcome' in rollout)) open.failedRollouts++
      else if (isScored) open.steps += rollout.steps
    }),
    countOwed: fold(
      ['TrajectoryCompleted', 'RolloutFailed', 'TrajectoryJudged'],
      (context: HeadContext, about) => countOwed(context, about, judging, config),
    ),
    countProposal: fold('TaskProposed', ({ extras }: HeadContext, { iteration }) => {
      const open = extras.get(iteration)
      if (open) open.proposed++
    }),
    countRefusal: fold('TaskRejected', ({ extras }: HeadContext, { iteration, task }) => {
      const open = extras.get(iteration)
      if (open && task === null) open.refused++
    }),
    countAccepted: fold('TaskAccepted', ({ extras }: HeadContext, { iteration }) => {
      const open = extras.get(iteration)
      if (open) open.accepted++
    }),
    countEvaluation: fold('EvaluationCompleted', ({ extras }: HeadContext, { iteration }) => {
      const open = extras.get(iteration)
      if (open) open.evaluatedSplits++
    }),
    countJudgedEvaluation: fold('TrajectoryJudged', ({ extras }: HeadContext, { iteration, purpose }) => {
      const open = extras.get(iteration)
      if (open && purpose === 'evaluation') open.evaluationJudged++
    }),
    beginIteration: decide((context: HeadContext) => {
      context.newest++
      const { policyVersion, rewardModelVersion, newest: iteration, clock, completed, playedSteps } = context
      const last =
        iteration > 0 &&
        (timeEnds(clock, completed, run.minutes) || stepsEnd(playedSteps, completed, iteration, run.steps))
      return [
        emitEvent('IterationStarted', {
          iteration,
          policyVersion,
          rewardModelVersion,
          ...(last ? { last } : {}),
        }),
      ]
    }),
    completeIteration: decide((context: HeadContext) => {
      const iteration = ++context.completed
      const result = iterationResult(context, iteration)
      context.playedSteps += context.extras.get(iteration)?.playedSteps ?? 0
      context.books.delete(iteration)
      context.extras.delete(iteration)
      return [emitEvent('IterationCompleted', result)]
    }),
    completeRun: decide(({ completed }: HeadContext) => [
      emitEvent('RunCompleted', { iterations: completed, metrics: {} }),
    ]),
    giveUpWithoutTasks: giveUp(noTasksIn),
    giveUpWithoutOutcomes: giveUp(
      (iteration, expected) => `none of the ${expected} rollouts of iteration ${iteration} has an outcome`,
    ),
  }
}

/** Stops the run at the oldest open iteration. A person who resumes the run excuses that iteration. */
function giveUp(reasonOf: (iteration: number, expected: number) => string) {
  return decide(({ completed, books, extras }: HeadContext) => {
    const iteration = completed + 1
    extras.get(iteration)!.excused = true
    return [
      emitEvent('RunFailed', { reason: reasonOf(iteration, books.get(iteration)!.expected), iteration }),
    ]
  })
}

export function noTasksIn(iteration: number): string {
  return `iteration ${iteration} has no task to play: all are set aside`
}
