import type { BatchOf, Judge, OpenedModel } from '../learner/ports.ts'

/** A judge that a provider opens for the reward model: a learner with its judging. */
export type OpenedJudge = OpenedModel &
  Judge & {
    /** Null if no outside trainer can train it. */
    readonly batchOf: BatchOf | null
  }
