/**
 * The port through which the loop plays an environment. States are values: an episode can be continued from
 * any step.
 */
import type { Rng, Seed } from '../random.ts'

/** A task as events carry it: small, plain data from which the environment can build the whole again. */
export type Task = {
  /** Stable, and unique in a run. */
  readonly id: string
  /** Name of the task's setting. */
  readonly environment: string
  /** Kind of task in the environment's own terms, e.g. `pick_heat_then_place_in_recep`. */
  readonly kind: string
  /** Goal that the agent is told, e.g. `put a hot egg in garbagecan.` */
  readonly goal: string
  /** Data in the environment's own form, as JSON. */
  readonly recipe: Readonly<Record<string, unknown>>
}

/**
 * Why an episode ended: the goal was reached, the step limit was hit, or it was over before either (given up,
 * lost, drawn). The outcome tells how well it ended.
 */
export type EpisodeEnd = 'goal' | 'step-limit' | 'gave-up'

export type Turn = {
  readonly observation: string
  /** Admissible actions in a fixed order. Empty if the episode is done, and if actions are free text. */
  readonly admissible: readonly string[]
  readonly done: boolean
  readonly ended: EpisodeEnd | null
  /** Whether a call of a tool failed in the last action. Absent if the environment cannot tell. */
  readonly failed?: boolean
  /** True if the last action neither did nor answered anything. */
  readonly void?: boolean
  /** Name of who acts next, if a setting has several roles. Then every turn has one. */
  readonly role?: string
  /** True in the last turn if the outcome is a guess, e.g. of a model or a vote. */
  readonly unsure?: boolean
  /** Files that the observation names by their digests, e.g. pictures. The run keeps them as blobs. */
  readonly files?: readonly Uint8Array[]
}

/** A tool that a model may call. */
export type EpisodeTool = {
  readonly name: string
  readonly description: string
  /** JSON schema of the arguments. */
  readonly parameters: Readonly<Record<string, unknown>>
}

/** One live episode. It is a value: `step` does not change it and returns the next episode. */
export interface Episode {
  readonly task: Task
  readonly turn: Turn
  readonly steps: number
  /** Tools that a model may call in this episode, in place of those of the setting. The setting's acting must have `tools`, which may be empty. */
  readonly tools?: readonly EpisodeTool[]
  /**
   * Takes an action. Returns a promise if the step takes time: an opponent that thinks, a browser, a remote
   * server.
   */
  step(action: string): Episode | Promise<Episode>
  /**
   * Returns the outcome in [0, 1] of an ended episode: 1 is success, 0 failure. A draw (0.5) or partial
   * credit is between.
   */
  outcome(): number
}

/** An episode whose steps are pure computation. */
export interface ImmediateEpisode extends Episode {
  step(action: string): ImmediateEpisode
}

/**
 * An error with code `rollout.infra` is a fault of the infrastructure: the rollout is tried again. Any other
 * error is a fault of the task.
 */
export interface Environment {
  /** Returns the tasks of a split in a fixed order, e.g. `train`, `in-domain`, `ood`. */
  tasks(split: string): Promise<readonly Task[]>
  /** Starts an episode. All chance in it, also in its outcome, comes from the seed. */
  reset(task: Task, options: { readonly seed: Seed; readonly maxSteps: number }): Promise<Episode>
  /**
   * Does work that an ended episode's outcome needs, e.g. runs a program. Resolves to the episode with its
   * outcome. If `settle` exists, it must be called before `outcome`. Rejects if the infrastructure failed.
   */
  settle?(episode: Episode): Promise<Episode>
  /**
   * Is told that nobody goes on with the episode, e.g. after a fault. It gives back what the episode holds,
   * such as a session. It may be called more than once.
   */
  release?(episode: Episode): Promise<void>
  /**
   * False if the same seed and actions may lead to another state. Then no episode goes on from an older step.
   */
  readonly deterministic?: boolean
  /** Returns an action by chance, if actions are texts. For trials. */
  written?(random: Rng): string
  /** Ends all that the environment has started, e.g. sandboxes. */
  close?(): Promise<void>
}

export type Direction = 'harder' | 'easier'

export type RewriteRequest = {
  readonly task: Task
  readonly direction: Direction
  /** Share of this task's rollouts that succeeded, in [0, 1]. */
  readonly accuracy: number
  /** Critiques of the reward model about the failures. May be empty. */
  readonly critique: string
  /** Ids that the new task must not have: those of the parent and of its earlier versions. */
  readonly taken: readonly string[]
  readonly seed: Seed
}

/** A new task, or the reason why there is none. */
export type Rewrite = { readonly task: Task } | { readonly refused: string }

export type Validation = { readonly ok: true } | { readonly ok: false; readonly reason: string }
