import type { BatchOf, Judge, OpenedModel } from '../learner/ports.ts'

/** What a provider opens for the reward model: a learner, and how it judges. */
export type OpenedJudge = OpenedModel &
  Judge & {
    /** Null if nobody outside can train it. */
    readonly batchOf: BatchOf | null
  }
