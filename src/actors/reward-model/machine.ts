/** The reward model's decider: which trajectories to judge, when a trajectory is judged, and when to train the judge. */
import { setup } from 'xstate'
import type { Config } from '../../config.ts'
import type { EventData, LoggedEvent } from '../../events/catalogue.ts'
import { accuracyOf } from '../../learning/filters.ts'
import { seedOf } from '../../random.ts'
import { BOOK_ENTRIES, BOOK_EVENTS, type Books, bookkeeping } from '../decider/bookkeeping.ts'
import { groupOver, learnableGroups, readyToLearn } from '../decider/books.ts'
import type { Decider, Output } from '../decider/decider.ts'
import { askFor, decide, doneBy, emitEvent, fold, unchangedVersion } from '../decider/fold.ts'
import type { ColdStart, Judge, Train } from '../decider/jobs.ts'
import { byText } from '../decider/names.ts'
import {
  addToBatch,
  type Batch,
  type Batches,
  batchJudged,
  closeBatch,
  emptyBatches,
  enterInBatch,
  isLastInBatch,
  membersInOrder,
} from './batches.ts'
import { summary } from './verdicts.ts'

export type RewardModelContext = {
  /** Newest version; -1 before the cold start. */
  version: number
  /** Iterations that are not trained on yet. */
  readonly books: Books
  readonly batches: Batches
  /** Evaluation trajectories that wait for the reward model of their iteration. */
  held: EventData<'TrajectoryCompleted'>[]
  /** Evaluation tasks that are judged as a group and wait for their last rollout or for that reward model, by iteration and slot. */
  readonly evaluated: Map<string, EvaluatedGroup>
}

type EvaluatedGroup = {
  readonly iteration: number
  readonly rollouts: number
  ended: number
  readonly scored: EventData<'TrajectoryCompleted'>[]
}

type Context = RewardModelContext

export function rewardModelDecider(config: Config): Decider {
  const { mode, accuracyRange } = config.rewardModel
  const { deadlines, seed } = config.run
  const byGroup = config.rewardModel.judging === 'group'

  function judge(context: Context, batch: Batch): Output[] {
    if (batchJudged(batch)) return concludeBatch(context, batch)
    const members = membersInOrder(batch)
    const last = members[members.length - 1]
    const { iteration, slot, task, rollout } = last.trajectory
    return [
      askFor<Judge>(
        'judge',
        doneBy('TrajectoryJudged', { rollout }),
        {
          iteration,
          slot,
          task,
          rewardModelVersion: last.rewardModelVersion,
          rollouts: members.map(({ trajectory, byStep }) => ({
            rollout: trajectory.rollout,
            steps: byStep.length,
            seed: seedOf(seed, 'judge', trajectory.rollout),
          })),
        },
        deadlines.scoringSeconds,
      ),
    ]
  }

  /** In order of the rollouts' index, so that the last one ends the job. */
  function concludeBatch(context: Context, batch: Batch): Output[] {
    closeBatch(context.batches, batch)
    return membersInOrder(batch).map((verdicts) => emitEvent('TrajectoryJudged', summary(verdicts)))
  }

  /** The batch of a task whose last rollout is over, where judging goes by group. */
  function judgeWholeGroup(context: Context, iteration: number, slot: string): Output[] {
    const book = context.books.get(iteration)
    const group = book?.groups.get(slot)
    const batch = context.batches.byName.get(`${iteration}/${slot}`)
    return batch && book && group && groupOver(book, group) ? judge(context, batch) : []
  }

  function judgeEvaluation(context: Context, trajectory: EventData<'TrajectoryCompleted'>): Output[] {
    const { rollout, iteration } = trajectory
    return judge(context, addToBatch(context.batches, rollout, trajectory, iteration))
  }

  /** One more ended rollout of an evaluation task that is judged as a group. */
  function enterEvaluated(
    context: Context,
    { iteration, slot }: { readonly iteration: number; readonly slot: string },
    scored: EventData<'TrajectoryCompleted'> | null,
  ): Output[] {
    const name = `${iteration}/${slot}`
    const group = context.evaluated.get(name) ?? {
      iteration,
      rollouts: config.evaluation.rollouts,
      ended: 0,
      scored: [],
    }
    context.evaluated.set(name, group)
    group.ended++
    if (scored) group.scored.push(scored)
    return judgeEvaluated(context, name, group)
  }

  function judgeEvaluated(context: Context, name: string, group: EvaluatedGroup): Output[] {
    const { iteration, rollouts, ended, scored } = group
    if (ended < rollouts || context.version < iteration) return []
    context.evaluated.delete(name)
    const batches = scored.map((one) => addToBatch(context.batches, name, one, iteration))
    return batches.length === 0 ? [] : judge(context, batches[0])
  }

  const machine = setup({
    types: { context: {} as Context, events: {} as LoggedEvent, emitted: {} as Output },
    guards: {
      isOff: () => mode === 'off',
      iterationOpen: ({ context }) => context.books.has(context.version + 1),
      readyToTrain: ({ context }) => {
        const book = context.books.get(context.version + 1)
        return book !== undefined && readyToLearn(book, mode !== 'off')
      },
    },
    actions: {
      ...bookkeeping<Context>(),
      announceNone: fold('RunStarted', () => [
        emitEvent('RewardModelUpdated', unchangedVersion(0, 'the reward model is off')),
      ]),
      askForColdStart: fold('PolicyUpdated', () => [
        askFor<ColdStart>(
          'cold-start',
          doneBy('RewardModelUpdated', { version: 0 }),
          { seed: seedOf(seed, 'reward-model-cold-start') },
          deadlines.coldStartSeconds,
        ),
      ]),
      adoptVersion: fold('RewardModelUpdated', (context: Context, { version }) => {
        context.version = version
        context.books.delete(version)
        const due = context.held.filter(({ iteration }) => iteration <= version)
        context.held = context.held.filter(({ iteration }) => iteration > version)
        const groups = [...context.evaluated].sort(([a], [b]) => byText(a, b))
        return [
          ...due
            .sort((a, b) => byText(a.rollout, b.rollout))
            .flatMap((trajectory) => judgeEvaluation(context, trajectory)),
          ...groups.flatMap(([name, group]) => judgeEvaluated(context, name, group)),
        ]
      }),
      askForVerdicts: fold('TrajectoryCompleted', (context: Context, trajectory) => {
        const { purpose, iteration, slot, rollout, outcome } = trajectory
        if (mode === 'off') return []
        if (purpose === 'evaluation') {
          if (!config.evaluation.judge) return []
          if (byGroup)
            return enterEvaluated(context, trajectory, outcome.kind === 'scored' ? trajectory : null)
          if (outcome.kind !== 'scored') return []
          if (context.version >= iteration) return judgeEvaluation(context, trajectory)
          context.held.push(trajectory)
          return []
        }
        const book = context.books.get(iteration)
        if (book && outcome.kind === 'scored') {
          const name = byGroup ? `${iteration}/${slot}` : rollout
          const batch = addToBatch(context.batches, name, trajectory, book.rewardModelVersion)
          if (!byGroup) return judge(context, batch)
        }
        return byGroup ? judgeWholeGroup(context, iteration, slot) : []
      }),
      judgeRest: fold('RolloutFailed', (context: Context, failure) => {
        const { purpose, iteration, slot } = failure
        if (!byGroup || mode === 'off') return []
        if (purpose !== 'evaluation') return judgeWholeGroup(context, iteration, slot)
        return config.evaluation.judge ? enterEvaluated(context, failure, null) : []
      }),
      enterVerdict: fold('StepScored', (context: Context, scored) => {
        const judged = enterInBatch(context.batches, scored)
        return judged && concludeBatch(context, judged)
      }),
      train: decide((context: Context) => {
        const parentVersion = context.version
        const version = parentVersion + 1
        const [low, high] = accuracyRange
        const groups = learnableGroups(context.books.get(version)!, config.environment.minGroupSize).filter(
          ({ accuracy }) => accuracyOf(accuracy) >= low && accuracyOf(accuracy) <= high,
        )
        const stopped =
          mode !== 'co-trained'
            ? `the reward model is ${mode}`
            : groups.length === 0
              ? `no task has an accuracy in [${low}, ${high}]`
              : null
        if (stopped !== null) return [emitEvent('RewardModelUpdated', unchangedVersion(version, stopped))]
        return [
          askFor<Train>(
            'train',
            doneBy('RewardModelUpdated', { version }),
            {
              iteration: version,
              version,
              parentVersion,
              groups,
              seed: seedOf(seed, 'reward-model-train', version),
            },
            deadlines.trainingSeconds,
          ),
        ]
      }),
    },
  }).createMachine({
    id: 'reward-model',
    description:
      'Decides what is judged, says when a trajectory is judged whole, and when the judge is trained.',
    context: () => ({
      version: -1,
      books: new Map(),
      batches: emptyBatches(config.rewardModel.expected ? 'expected' : 'sampled'),
      held: [],
      evaluated: new Map(),
    }),
    initial: 'idle',
    states: {
      idle: {
        description: 'No run yet.',
        on: {
          RunStarted: [
            { guard: 'isOff', target: 'coldStarting', actions: 'announceNone' },
            { target: 'awaitingPolicy' },
          ],
        },
      },
      awaitingPolicy: {
        description: 'The judge starts from the policy, which is not there yet.',
        on: { PolicyUpdated: { target: 'coldStarting', actions: 'askForColdStart' } },
      },
      coldStarting: {
        description: 'Version 0 is being made.',
        on: { RewardModelUpdated: { target: 'serving', actions: 'adoptVersion' } },
      },
      serving: {
        initial: 'waiting',
        on: {
          ...BOOK_ENTRIES,
          TrajectoryCompleted: { actions: ['enterTrajectory', 'askForVerdicts'] },
          RolloutFailed: { actions: ['enterFailure', 'judgeRest'] },
          StepScored: { actions: 'enterVerdict' },
          RunCompleted: { target: 'finished' },
        },
        states: {
          waiting: {
            description: 'The next iteration has not begun.',
            always: { guard: 'iterationOpen', target: 'judging' },
          },
          judging: {
            description: 'Trajectories and verdicts on them come in.',
            always: { guard: 'readyToTrain', target: 'training', actions: 'train' },
          },
          training: {
            description: 'The next version is being made.',
            on: { RewardModelUpdated: { target: 'waiting', actions: 'adoptVersion' } },
          },
        },
      },
      finished: { description: 'The run is over.' },
    },
  })

  return {
    role: 'reward-model',
    machine,
    interests: new Set([
      ...BOOK_EVENTS,
      'RunStarted',
      'PolicyUpdated',
      'RewardModelUpdated',
      'StepScored',
      'RunCompleted',
    ] as const),
    absorb(context, event) {
      if (event.type !== 'StepScored') return false
      const { batches } = context as Context
      if (isLastInBatch(batches, event.data)) return false
      enterInBatch(batches, event.data)
      return true
    },
    version: 1,
    withConfig: rewardModelDecider,
  }
}
