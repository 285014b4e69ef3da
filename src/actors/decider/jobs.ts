/** Jobs that the deciders give to their workers. An input names things; the worker reads them from the log. */
import type { Direction } from '../../environments/port.ts'
import type { EventData } from '../../events/catalogue.ts'
import type { Tally } from '../../learning/terms.ts'
import type { Seed } from '../../random.ts'

/** Every kind of job with its input. Logs and key frames hold kinds and inputs, so both keep their names. */
export interface Jobs {
  'load-tasks': LoadTasks
  'cold-start': ColdStart
  /** environment: play a rollout, and append TrajectoryCompleted or RolloutFailed. */
  play: EventData<'RolloutRequested'>
  judge: JudgeRollouts
  train: Train
  rewrite: RewriteTask
}

export type JobKind = keyof Jobs

/** The kinds by name, for whoever reads a job from bytes. */
export const JOB_KINDS = [
  'load-tasks',
  'cold-start',
  'play',
  'judge',
  'train',
  'rewrite',
] as const satisfies readonly JobKind[]

/**
 * Work for the worker half. It is done when the log holds an event with the natural key `done`. If the result of a job is missing
 * after a restart, the job is handed out again.
 */
export type JobOf<Kind extends JobKind> = {
  readonly kind: Kind
  /** Natural key (catalogue.ts) of the event that ends this job, e.g. `PolicyUpdated/3`. */
  readonly done: string
  readonly input: Jobs[Kind]
  /** Time that the job may take before it counts as stalled, from the config. */
  readonly deadlineMs: number
}

/** A job of any kind: its kind tells the type of its input. */
export type Job = { [Kind in JobKind]: JobOf<Kind> }[JobKind]

/**
 * environment: append TaskAdded for every task of every split, as one batch. Evaluation splits come first, and each
 * split goes from its last slot to its first. So the first training slot ends the job, whatever the totals turn out to
 * be.
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
  /** Seed for generating or choosing tasks. */
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
  /** Rollouts in order of their index. */
  readonly rollouts: readonly string[]
}

/** policy, reward-model: learn from these groups and append PolicyUpdated or RewardModelUpdated of `version`. */
export type Train = {
  readonly iteration: number
  readonly version: number
  readonly parentVersion: number
  /** Groups in order of their slots. Never empty. */
  readonly groups: readonly LearnableGroup[]
  /** Order of samples and all else that is drawn. */
  readonly seed: Seed
}

/** reward-model: append StepScored for every step of these rollouts, in any order. */
export type JudgeRollouts = {
  readonly iteration: number
  readonly slot: string
  readonly task: string
  readonly rewardModelVersion: number
  /** One trajectory, or all trajectories of a task if judging goes by group. They are in order of their index. */
  readonly rollouts: readonly { readonly rollout: string; readonly steps: number; readonly seed: Seed }[]
}

/** adapter: append TaskProposed, or TaskRejected with `task` null if no candidate can be made. */
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
