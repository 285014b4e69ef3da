/** The reward model's decider: which trajectories to judge, when a trajectory is judged, and when to train the judge. */
import { setup } from 'xstate'
import type { Config } from '../../config.ts'
import type { LoggedEvent } from '../../events/catalogue.ts'
import { accuracyOf } from '../../learning/filters.ts'
import { seedOf } from '../../random.ts'
import { BOOK_ENTRIES, BOOK_EVENTS, bookkeeping, learnableGroups } from '../decider/books.ts'
import type { Decider, Output } from '../decider/decider.ts'
import { ask, askFor, decide, doneBy, emitEvent, fold, unchangedVersion, when } from '../decider/fold.ts'
import { byText } from '../decider/names.ts'
import { type Versioned, versioning, versionStates } from '../decider/versions.ts'
import { batchChoice, type Ended, hasOutcome } from './batch-choice.ts'
import {
  type Batch,
  type Batches,
  batchJudged,
  closeBatch,
  emptyBatches,
  enterInBatch,
  enterStep,
  isLastInBatch,
  membersInOrder,
  othersOutstanding,
} from './batches.ts'
import { summary } from './verdicts.ts'

type Context = Versioned & {
  /** Batches that are not judged yet. */
  readonly batches: Batches
  /** Batches of evaluations that are whole and wait for the version that is to judge them. */
  held: Batch[]
}

const ENDS = ['TrajectoryCompleted', 'RolloutFailed'] as const

/** Why a version keeps the weights of the one before. */
const NOT_TRAINED = 'the reward model is'
const NO_TASK = 'no task has an accuracy in'

/** A rollout has ended: the last one of its batch lets the judge begin. */
const END_OF_ROLLOUT = [
  { guard: 'isNotJudged', actions: 'enterRollout' },
  { guard: 'othersOutstanding', actions: ['enterRollout', 'enterInBatch'] },
  { guard: 'judgeIsNotThere', actions: ['enterRollout', 'enterInBatch', 'holdBatch'] },
  { actions: ['enterRollout', 'enterInBatch', 'judgeBatch'] },
] as const

export function rewardModelDecider(config: Config): Decider {
  const { mode, accuracyRange } = config.rewardModel
  const [low, high] = accuracyRange
  const { deadlines, seed } = config.run
  const { nameOf, batchFor } = batchChoice(config)

  function openBatchOf({ batches }: Context, ended: Ended): Batch {
    return batches.byName.get(nameOf(ended))!
  }

  /** A trajectory without steps has nothing to ask a judge about. */
  function judge(context: Context, batch: Batch): readonly Output[] {
    return batchJudged(batch) ? conclude(context, batch) : [askForVerdicts(batch)]
  }

  function askForVerdicts(batch: Batch): Output {
    const members = membersInOrder(batch)
    const { iteration, slot, task, rollout } = members[members.length - 1].trajectory
    return askFor(
      'judge',
      doneBy('TrajectoryJudged', { rollout }),
      {
        iteration,
        slot,
        task,
        rewardModelVersion: batch.rewardModelVersion,
        rollouts: members.map(({ trajectory, byStep }) => ({
          rollout: trajectory.rollout,
          steps: byStep.length,
          seed: seedOf(seed, 'judge', trajectory.rollout),
        })),
      },
      deadlines.scoringSeconds,
    )
  }

  /** Emits events in order of the rollouts' index, so that the last one ends the job. */
  function conclude(context: Context, batch: Batch): Output[] {
    closeBatch(context.batches, batch)
    return membersInOrder(batch).map((verdicts) => emitEvent('TrajectoryJudged', summary(verdicts)))
  }

  const { guards, actions, keepBecause } = versioning<Context>(
    { role: 'reward-model', updated: 'RewardModelUpdated' },
    config,
    ({ books, version }) =>
      learnableGroups(books.get(version + 1)!, config.environment.minGroupSize).filter(
        ({ accuracy }) => accuracyOf(accuracy) >= low && accuracyOf(accuracy) <= high,
      ),
  )

  const machine = setup({
    types: { context: {} as Context, events: {} as LoggedEvent, emitted: {} as Output },
    guards: {
      isOff: () => mode === 'off',
      isNotJudged: when(ENDS, (context: Context, ended) => batchFor(context.books, ended) === null),
      othersOutstanding: when(ENDS, (context: Context, ended) => {
        const batch = batchFor(context.books, ended)
        return batch !== null && othersOutstanding(context.batches, batch) > 0
      }),
      judgeIsNotThere: when(ENDS, (context: Context, ended) => {
        const batch = batchFor(context.books, ended)
        return batch !== null && batch.rewardModelVersion > context.version
      }),
      isLastVerdict: when('StepScored', ({ batches }: Context, scored) => isLastInBatch(batches, scored)),
      iterationOpen: guards.iterationOpen,
      allIsIn: guards.allIsIn,
      isNotTrained: () => mode !== 'co-trained',
      noTaskIsInRange: guards.nothingToLearn,
    },
    actions: {
      ...bookkeeping<Context>(),
      ...actions,
      announceNone: decide(() => [
        emitEvent('RewardModelUpdated', unchangedVersion(0, `${NOT_TRAINED} off`)),
      ]),
      enterInBatch: fold(ENDS, (context: Context, ended) => {
        const batch = batchFor(context.books, ended)
        if (batch) enterInBatch(context.batches, batch, hasOutcome(ended) ? ended : null)
      }),
      holdBatch: fold(ENDS, (context: Context, ended) => {
        context.held.push(openBatchOf(context, ended))
      }),
      judgeBatch: ask(ENDS, (context: Context, ended) => judge(context, openBatchOf(context, ended))),
      judgeHeld: decide((context: Context) => {
        const due = context.held.filter(({ rewardModelVersion }) => rewardModelVersion <= context.version)
        context.held = context.held.filter((batch) => !due.includes(batch))
        return due.sort((a, b) => byText(a.name, b.name)).flatMap((batch) => judge(context, batch))
      }),
      enterVerdict: fold('StepScored', ({ batches }: Context, scored) => enterStep(batches, scored)),
      concludeBatch: ask('StepScored', (context: Context, { rollout }) =>
        conclude(context, context.batches.byRollout.get(rollout)!.batch),
      ),
      keepAsNotTrained: keepBecause(`${NOT_TRAINED} ${mode}`),
      keepAsNoTaskIsInRange: keepBecause(`${NO_TASK} [${low}, ${high}]`),
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
        on: { RewardModelUpdated: { target: 'serving', actions: ['adoptVersion', 'judgeHeld'] } },
      },
      serving: {
        initial: 'waiting',
        on: {
          ...BOOK_ENTRIES,
          TrajectoryCompleted: END_OF_ROLLOUT,
          RolloutFailed: END_OF_ROLLOUT,
          StepScored: [
            { guard: 'isLastVerdict', actions: ['enterVerdict', 'concludeBatch'] },
            { actions: 'enterVerdict', description: 'absorbed: no transition is made' },
          ],
          RunCompleted: { target: 'finished' },
        },
        states: {
          waiting: {
            description: 'The next iteration has not begun.',
            always: { guard: 'iterationOpen', target: 'judging' },
          },
          judging: {
            description: 'Trajectories and verdicts on them come in.',
            always: { guard: 'allIsIn', target: 'choosing' },
          },
          choosing: {
            description: 'Whether there is anything to train on.',
            always: [
              { guard: 'isNotTrained', target: 'keeping', actions: 'keepAsNotTrained' },
              { guard: 'noTaskIsInRange', target: 'keeping', actions: 'keepAsNoTaskIsInRange' },
              { target: 'training', actions: 'train' },
            ],
          },
          ...versionStates('RewardModelUpdated', ['adoptVersion', 'judgeHeld'] as const),
        },
      },
      finished: { type: 'final', description: 'The run is over.' },
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
      enterStep(batches, event.data)
      return true
    },
    decides: {
      TrajectoryJudged: ({ steps }) =>
        steps.good + steps.bad + steps.undecided === 0 ? 'judgeBatch' : 'concludeBatch',
      RewardModelUpdated: ({ version, stopped }) => {
        if (version === 0) return stopped === `${NOT_TRAINED} off` ? 'announceNone' : 'askForColdStart'
        if (stopped?.startsWith(NOT_TRAINED)) return 'keepAsNotTrained'
        return stopped?.startsWith(NO_TASK) ? 'keepAsNoTaskIsInRange' : 'train'
      },
    },
    version: 2,
    withConfig: rewardModelDecider,
  }
}
