/** Answers of the page that compares runs. */
import type { EventRow, SuccessPoint } from './answers.ts'

type Estimate = {
  readonly value: number
  readonly low: number
  readonly high: number
  readonly n: number
}

type PairedRow = {
  readonly group: string
  readonly metric: 'success' | 'steps'
  readonly a: Estimate
  readonly b: Estimate
  /** b less a, in pairs of tasks. */
  readonly difference: Estimate
}

type FlippedTask = {
  readonly slot: string
  readonly rollouts: number
  /** Numbers of solved rollouts. */
  readonly a: number
  readonly b: number
}

export type ComparePage = {
  readonly a: string
  readonly b: string
  /** Positions 1 to this are the same events. */
  readonly shared: number
  /** Values as JSON. Null if the run has no such key. */
  readonly config: readonly { readonly key: string; readonly a: string | null; readonly b: string | null }[]
  readonly divergence: {
    readonly key: string
    readonly what: string
    readonly a: EventRow | null
    readonly b: EventRow | null
  } | null
  readonly figures: readonly PairedRow[]
  readonly unpaired: readonly { readonly group: string; readonly rollouts: number }[]
  /** Groups with tasks in pairs, and the one whose tasks are listed. */
  readonly groups: readonly string[]
  readonly group: string | null
  readonly tasks: readonly FlippedTask[]
  /** Number of tasks of the group that both solved as often. */
  readonly same: number
}

/** Success of a run. A fork's shared past is left out. */
export type RunCurve = {
  readonly run: string
  /** False while figures are still folded. */
  readonly complete: boolean
  readonly success: readonly SuccessPoint[]
}

/** Most runs that are compared at once. */
export const MOST_RUNS = 4

/**
 * Returns the chosen runs after one more was chosen, or given up. Only the last four stay.
 * @example toggled(['a'], 'b') // ['a', 'b']
 */
export function toggled(chosen: readonly string[], run: string): readonly string[] {
  return chosen.includes(run) ? chosen.filter((one) => one !== run) : [...chosen, run].slice(-MOST_RUNS)
}

/**
 * Returns the address that compares runs, the first with each other one. Returns null for fewer than two.
 * @example pathOfComparison(['run-1', 'run-2']) // '/compare?a=run-1&b=run-2'
 */
export function pathOfComparison(runs: readonly string[]): string | null {
  if (runs.length < 2) return null
  return `/compare?${runs.map((run, i) => `${'abcd'[i]}=${encodeURIComponent(run)}`).join('&')}`
}
