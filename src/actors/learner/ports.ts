/**
 * The two ports of a role with a model. Providers stand behind them: models of this process, endpoints, scripts, and trainers outside.
 * The role's one worker asks them (policy/worker.ts, reward-model/worker.ts).
 */
import type { NewEvent } from '../../events/catalogue.ts'
import type { ColdStart, JudgeRollouts, Train } from '../decider/jobs.ts'
import type { JobContext, Worker } from '../runtime/worker.ts'
import type { ModelRole } from './checkpoints.ts'
import { type OutsideBatch, type OutsideConfig, trainOutside } from './outside.ts'

/** Makes the versions of a role's model. */
export type Learner = {
  /** Makes version 0. */
  readonly begin: (job: ColdStart, context: JobContext) => Promise<NewEvent[]>
  /** Makes the next version. If nothing is learned, it has the weights of the one before. */
  readonly update: (job: Train, context: JobContext) => Promise<NewEvent[]>
}

/** Judges the steps of rollouts. */
export type Judge = {
  readonly judge: (job: JudgeRollouts, context: JobContext) => Promise<NewEvent[]>
  /** Number of jobs at a time. */
  readonly concurrency: number
}

/** A model that a provider opens for a role. */
export type OpenedModel = Pick<Worker, 'counters' | 'prepare' | 'broken' | 'close'> & {
  /** Facts for people, e.g. the model and its backend. */
  readonly note: string
  readonly learner: Learner
}

/** Returns the batch of an update, for a learner here or an outside trainer. */
export type BatchOf = (job: Train) => Promise<OutsideBatch>

/** The learner with updates by a trainer outside. Version 0 is made as before. */
export function trainedOutside(
  { begin }: Learner,
  role: ModelRole,
  batchOf: BatchOf,
  config: OutsideConfig,
): Learner {
  return {
    begin,
    update: async (job, context) => trainOutside(role, job, await batchOf(job), config, context),
  }
}
