/** The one port through which the loop plays an environment. States are values: an episode can be continued from any step. */
import type { Seed } from '../random.ts'

/** A task as it travels in events: small, plain data from which the environment can build the whole again. */
export type Task = {
  /** Stable and unique in a run. */
  readonly id: string
  /** The setting that it is of. */
  readonly environment: string
  /** The environment's own kind, e.g. `pick_heat_then_place_in_recep`. */
  readonly kind: string
  /** What the agent is told to do, e.g. `put a hot egg in garbagecan.` */
  readonly goal: string
  /** The environment's own recipe; JSON data. */
  readonly recipe: Readonly<Record<string, unknown>>
}

/**
 * Why an episode ended: the goal was reached, the step limit was hit, or it was over before either (given up, lost, drawn). How well
 * it ended is told by its outcome.
 */
export type EpisodeEnd = 'goal' | 'step-limit' | 'gave-up'

export type Turn = {
  readonly observation: string
  /** What the agent may do now, in a fixed order; empty when done, and where it answers in free text. */
  readonly admissible: readonly string[]
  readonly done: boolean
  readonly ended: EpisodeEnd | null
}

/** One live episode. A value: `step` leaves it as it was and gives the next. */
export interface Episode {
  readonly task: Task
  readonly turn: Turn
  readonly steps: number
  /** A promise where the step takes time: an opponent that thinks, a browser, a server elsewhere. */
  step(action: string): Episode | Promise<Episode>
  /** In [0, 1], asked for at the end alone: 1 is success, 0 failure, a draw (0.5) or partial credit lies between. */
  outcome(): number
}

/** An episode whose steps are computation. */
export interface ImmediateEpisode extends Episode {
  step(action: string): ImmediateEpisode
}

/** What it rejects with code `rollout.infra` is a fault of the infrastructure: the rollout is tried again. Any other is of its task. */
export interface Environment {
  /** The tasks of a split in a fixed order, e.g. `train`, `in-domain`, `ood`. */
  tasks(split: string): Promise<readonly Task[]>
  /** Starts an episode. Everything random in it, the outcome included, comes from the seed. */
  reset(task: Task, options: { readonly seed: Seed; readonly maxSteps: number }): Promise<Episode>
  /**
   * Does what an ended episode's outcome needs and a step cannot wait for (a program is run); resolves to the episode with its
   * outcome. Where it is there it must be called before `outcome`, and rejects where the infrastructure failed.
   */
  settle?(episode: Episode): Promise<Episode>
  /** Ends what it has started, e.g. sandboxes. */
  close?(): Promise<void>
}

export type Direction = 'harder' | 'easier'

export type RewriteRequest = {
  readonly task: Task
  readonly direction: Direction
  /** Share of this task's rollouts that succeeded, in [0, 1]. */
  readonly accuracy: number
  /** What went wrong, as the reward model's critiques say; may be empty. */
  readonly critique: string
  /** Ids of tasks that must not come out again: the parent and its earlier versions. */
  readonly taken: readonly string[]
  readonly seed: Seed
}

/** A new task, or why there is none. */
export type Rewrite = { readonly task: Task } | { readonly refused: string }

export type Validation = { readonly ok: true } | { readonly ok: false; readonly reason: string }
