/** Answers of the pages of tasks. */
import type { Change } from './structural-diff.ts'

export type TaskTally = { readonly successes: number; readonly n: number }

/** One thing that happened to a slot. */
export type LaneMark = {
  readonly iteration: number
  /** `played`: the active task was trained on. */
  readonly kind: 'played' | 'proposed' | 'accepted' | 'rejected' | 'refused'
  readonly direction: 'harder' | 'easier' | null
  /** Share of the task that the mark is about. Null if it was not measured. */
  readonly accuracy: number | null
  readonly reason: string | null
}

export type TaskLane = {
  readonly slot: string
  /** Goal of the active task. */
  readonly goal: string
  readonly kind: string
  readonly marks: readonly LaneMark[]
}

export type TasksPage = {
  /** Last iteration that began. */
  readonly last: number
  readonly slots: number
  readonly lanes: readonly TaskLane[]
  readonly accepted: number
  readonly rejected: number
  readonly refused: number
}

/** Knowledge of a success rate: Beta(a, b), and its curve over [0, 1] in equal steps. */
export type Posterior = {
  readonly a: number
  readonly b: number
  readonly low: number
  readonly high: number
  readonly density: readonly number[]
}

export type TaskDecision = {
  readonly iteration: number
  readonly position: number
  readonly accepted: boolean
  readonly reason: string
  readonly accuracy: TaskTally
  readonly thresholds: { readonly low: number; readonly high: number }
  readonly probability: number
  /** Probability that was asked for. Null if the measured shares alone decided. */
  readonly confidence: number | null
  /** Name of a user's own rule that decided, or null. */
  readonly ownRule: string | null
  readonly parent: Posterior
  readonly candidate: Posterior
}

export type TaskProposal = {
  readonly iteration: number
  readonly position: number
  readonly direction: 'harder' | 'easier'
  readonly parentAccuracy: TaskTally
  readonly critique: string
  readonly quotes: readonly { readonly rollout: string; readonly step: number; readonly critique: string }[]
  readonly rewriter: string
  readonly decision: TaskDecision | null
}

export type TaskVersion = {
  readonly task: string
  readonly kind: string
  readonly goal: string
  readonly recipe: string
  /** Goal of the parent. Null for the first task of a slot. */
  readonly parentGoal: string | null
  readonly changes: readonly Change[]
  /** The first task of a slot has none. */
  readonly proposal: TaskProposal | null
  readonly isActive: boolean
  readonly position: number
}

export type TaskRefusal = {
  readonly iteration: number
  readonly position: number
  readonly direction: 'harder' | 'easier'
  readonly parentAccuracy: TaskTally
  readonly reason: string
}

export type TaskPage = {
  readonly slot: string
  readonly split: string
  /** Newest first. */
  readonly history: readonly (
    | ({ readonly is: 'version' } & TaskVersion)
    | ({ readonly is: 'refusal' } & TaskRefusal)
  )[]
  readonly lane: TaskLane
  readonly last: number
  /** Slots with candidates, before and after this one. */
  readonly before: string | null
  readonly after: string | null
}
