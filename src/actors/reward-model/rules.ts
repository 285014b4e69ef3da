/** Rules of the reward model's decider: what its machine asks before a transition, and what it does on one. */
import type { Config } from '../../config.ts'
import type { RewardModelConfig, RunConfig } from '../../config-schema/sections.ts'
import { NOT_TRAINED } from '../../events/catalogue/model.ts'
import { accuracyOf } from '../../learning/filters.ts'
import { bookkeeping, learnableGroups } from '../decider/books.ts'
import { ask, decide, emitEvent, fold, unchangedVersion, when } from '../decider/fold.ts'
import { byText } from '../decider/names.ts'
import { type Versioned, versioning } from '../decider/versions.ts'
import { conclude, judge } from './asking.ts'
import { type BatchChoice, batchChoice, type Ended, hasOutcome } from './batch-choice.ts'
import {
  type Batch,
  type Batches,
  emptyBatches,
  enterInBatch,
  enterStep,
  isLastInBatch,
  othersOutstanding,
} from './batches.ts'

export type RewardModelContext = Versioned & {
  /** Batches that are not judged yet. */
  readonly batches: Batches
  /** Batches of evaluations that are whole and wait for the version that is to judge them. */
  held: Batch[]
}

type Context = RewardModelContext

const ENDS = ['TrajectoryCompleted', 'RolloutFailed'] as const

/** Why a version keeps the weights of the one before. */
export const NO_TASK = 'no task has an accuracy in'

export function emptyRewardModelContext({ expected }: RewardModelConfig): RewardModelContext {
  return {
    version: -1,
    books: new Map(),
    batches: emptyBatches(expected ? 'expected' : 'sampled'),
    held: [],
  }
}

/** The named guards and actions, for `setup`. */
export function rewardModelRules({ run, environment, rewardModel, evaluation }: Config) {
  const { mode, form, accuracyRange } = rewardModel
  // A judge that estimates learns from every rollout: its labels do not follow from outcomes.
  const [low, high] = form === 'estimate' ? [0, 1] : accuracyRange
  const choice = batchChoice(rewardModel, evaluation)
  const versions = versioning<Context>(
    { role: 'reward-model', updated: 'RewardModelUpdated' },
    run,
    mode !== 'off',
    ({ books, version }) =>
      learnableGroups(books.get(version + 1)!, environment.minGroupSize).filter(
        ({ accuracy }) => accuracyOf(accuracy) >= low && accuracyOf(accuracy) <= high,
      ),
  )
  return {
    guards: {
      ...judgingGuards(choice),
      iterationOpen: versions.guards.iterationOpen,
      allIsIn: versions.guards.allIsIn,
      isOff: () => mode === 'off',
      isNotTrained: () => mode !== 'co-trained',
      noTaskIsInRange: versions.guards.nothingToLearn,
    },
    actions: {
      ...bookkeeping<Context>(),
      ...judgingActions(choice, run),
      ...versions.actions,
      announceNone: decide<Context>(() => [
        emitEvent('RewardModelUpdated', unchangedVersion(0, `${NOT_TRAINED} off`)),
      ]),
      keepAsNotTrained: versions.keepBecause(`${NOT_TRAINED} ${mode}`),
      keepAsNoTaskIsInRange: versions.keepBecause(`${NO_TASK} [${low}, ${high}]`),
    },
  }
}

function judgingGuards({ batchFor }: BatchChoice) {
  return {
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
  }
}

function judgingActions({ nameOf, batchFor }: BatchChoice, run: RunConfig) {
  function openBatchOf({ batches }: Context, ended: Ended): Batch {
    return batches.byName.get(nameOf(ended))!
  }

  return {
    enterInBatch: fold(ENDS, (context: Context, ended) => {
      const batch = batchFor(context.books, ended)
      if (batch) enterInBatch(context.batches, batch, hasOutcome(ended) ? ended : null)
    }),
    holdBatch: fold(ENDS, (context: Context, ended) => {
      context.held.push(openBatchOf(context, ended))
    }),
    judgeBatch: ask(ENDS, (context: Context, ended) => judge(context, openBatchOf(context, ended), run)),
    judgeHeld: decide((context: Context) => {
      const due = context.held.filter(({ rewardModelVersion }) => rewardModelVersion <= context.version)
      context.held = context.held.filter((batch) => !due.includes(batch))
      return due.sort((a, b) => byText(a.name, b.name)).flatMap((batch) => judge(context, batch, run))
    }),
    enterVerdict: fold('StepScored', ({ batches }: Context, scored) => enterStep(batches, scored)),
    concludeBatch: ask('StepScored', (context: Context, { rollout }) =>
      conclude(context, context.batches.byRollout.get(rollout)!.batch),
    ),
  }
}
