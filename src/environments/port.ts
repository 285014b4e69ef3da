/** The one port through which the loop uses an environment. States are values: an episode can be continued from any step. */
import type { Seed } from '../random.ts'

/** A task as it travels in events: small, plain data from which the environment can build the whole again. */
export type Task = {
  /** Stable and unique in a run. */
  readonly id: string
  readonly environment: string
  /** The environment's own kind, e.g. `pick_heat_then_place_in_recep`. */
  readonly kind: string
  /** What the agent is told to do, e.g. `put a hot egg in garbagecan.` */
  readonly goal: string
  /** The environment's own recipe; JSON data. */
  readonly recipe: Readonly<Record<string, unknown>>
}

/** Why an episode ended: the goal was reached, the step limit was hit, or the agent gave up. */
export type EpisodeEnd = 'goal' | 'step-limit' | 'gave-up'

export type Turn = {
  readonly observation: string
  /** What the agent may do now, in a fixed order; empty when done. */
  readonly admissible: readonly string[]
  readonly done: boolean
  readonly ended: EpisodeEnd | null
}

/** One live episode. A value: `step` leaves it as it was and returns the next. */
export interface Episode {
  readonly task: Task
  readonly turn: Turn
  readonly steps: number
  step(action: string): Episode
  /** In [0, 1]; 1 is success. */
  outcome(): number
  /** Of a settled episode that is graded by tests: which of them it passes, and how each run ended. */
  readonly tested?: { readonly passed: readonly boolean[]; readonly verdicts: readonly string[] }
}

export type Direction = 'harder' | 'easier'

export type RewriteRequest = {
  readonly task: Task
  readonly direction: Direction
  /** Share of this task's rollouts that succeeded, in [0, 1]. */
  readonly accuracy: number
  /** What went wrong, as the reward model's critiques say; may be empty. */
  readonly critique: string
  /** For tasks that are graded by tests: how the programs did on each. */
  readonly tested?: {
    /** [tests of the task] share of the programs that pass it. */
    readonly own: readonly number[]
    /** Tests that the reward model wrote, which may be wrong. */
    readonly written: readonly { readonly input: string; readonly output: string; readonly share: number }[]
  }
  /** What the slot held first, where that is not the task itself. */
  readonly root?: Task
  /** Ids of tasks that must not come out again: the parent and its earlier versions. */
  readonly taken: readonly string[]
  readonly seed: Seed
}

/** A new task, or why there is none. */
export type Rewrite = { readonly task: Task } | { readonly refused: string }

export type Validation = { readonly ok: true } | { readonly ok: false; readonly reason: string }

export interface Environment {
  readonly name: string
  /** The tasks of a split in a fixed order, e.g. `train`, `in-domain`, `ood`. */
  tasks(split: string): Promise<readonly Task[]>
  /** Starts an episode. Everything random in it comes from the seed. */
  reset(task: Task, options: { readonly seed: Seed; readonly maxSteps: number }): Promise<Episode>
  /**
   * Does what an ended episode's outcome needs and a step cannot wait for (a program is run); resolves to the episode with its
   * outcome. Where it is there it must be called before `outcome`, and rejects where the infrastructure failed.
   */
  settle?(episode: Episode): Promise<Episode>
  /** The task in words, for prompts and for people. */
  describe(task: Task): Promise<string>
  /** A changed task by the environment's own symbolic rules; proven valid. */
  rewrite(request: RewriteRequest): Promise<Rewrite>
  /** What a language model is to know for changing a task, by the placeholders of the environment's prompt; absent where it has none. */
  briefing?(request: RewriteRequest): Promise<Readonly<Record<string, string>>>
  /** The task that a language model's answer names, proven as one of `rewrite` is, or why it is refused. */
  rewriteAs?(request: RewriteRequest, answer: string): Promise<Rewrite>
  /** Whether the task can be solved and is not solved at its start. */
  validate(task: Task): Promise<Validation>
  /** True progress of each step of a recorded episode (the environment's definition), where the environment can tell; else null. */
  progress(task: Task, seed: Seed, actions: readonly string[]): Promise<Float32Array | null>
  /** Ends what it has started, e.g. sandboxes. */
  close?(): Promise<void>
}
