/** What the deciders ask their workers for. An input names things; the worker reads them from the log. */
import type { Direction } from '../../environments/port.ts'
import type { Tally } from '../../learning/terms.ts'
import type { Seed } from '../../random.ts'

/**
 * environment: append TaskAdded for every task of every split, as one batch, evaluation splits first and each split from
 * its last slot to its first: the one that ends the job is the first training slot, whatever the totals turn out to be.
 */
export type LoadTasks = {
  readonly splits: readonly {
    /** The run's name of it: slots are `slotName(split, 0..total-1)`. */
    readonly split: string
    /** The environment's name of it. */
    readonly source: string
    /** Most tasks; null for all. */
    readonly limit: number | null
  }[]
  /** For generating or choosing tasks. */
  readonly seed: Seed
}

/** policy, reward-model: make version 0 and append PolicyUpdated/0 or RewardModelUpdated/0. */
export type ColdStart = { readonly seed: Seed }

/** A task's rollouts of one iteration that may be learned from. */
export type LearnableGroup = {
  readonly slot: string
  readonly task: string
  readonly purpose: 'train' | 'candidate'
  readonly accuracy: Tally
  /** In order of their index. */
  readonly rollouts: readonly string[]
}

/** policy, reward-model: learn from these groups and append PolicyUpdated or RewardModelUpdated of `version`. */
export type Train = {
  readonly iteration: number
  readonly version: number
  readonly parentVersion: number
  /** In order of their slots; never empty. */
  readonly groups: readonly LearnableGroup[]
  /** Order of samples and all else that is drawn. */
  readonly seed: Seed
}

/** reward-model: append StepScored for every step of these rollouts, in any order. */
export type Judge = {
  readonly iteration: number
  readonly slot: string
  readonly task: string
  readonly rewardModelVersion: number
  /** One trajectory, or all of a task's where judging goes by group; in order of their index. */
  readonly rollouts: readonly { readonly rollout: string; readonly steps: number; readonly seed: Seed }[]
}

/** adapter: append TaskProposed, or TaskRejected with `task` null where no candidate can be made. */
export type RewriteTask = {
  readonly iteration: number
  readonly slot: string
  /** The active task, to be rewritten. */
  readonly parent: string
  readonly direction: Direction
  readonly parentAccuracy: Tally
  /** The commonest complaints about its failed rollouts, one a line, e.g. `3x opened the wrong drawer`; may be empty. */
  readonly critique: string
  /** All tasks that this slot ever held or was proposed. */
  readonly taken: readonly string[]
  readonly seed: Seed
}
