/** Answers on ablations: runs of several settings with the same seeds. */

/** A mean over seeds. Limits are null with one seed. */
export type Mean = {
  readonly value: number
  readonly low: number | null
  readonly high: number | null
  readonly n: number
}

export type AblationRow = {
  readonly name: string
  readonly folder: string
  readonly runs: number
  readonly settings: number
  readonly seeds: number
  /** Why it cannot be read, or null. */
  readonly fault: string | null
}

type AblatedRun = {
  readonly seed: number
  readonly run: string
  /** Whether its log is here. */
  readonly isHere: boolean
  /** [splits] Success at the start and at the end. Null if it was not measured. */
  readonly first: readonly (number | null)[]
  readonly last: readonly (number | null)[]
}

export type AblatedSetting = {
  readonly setting: string
  /** Keys that it changes. */
  readonly changes: readonly string[]
  /** [splits] */
  readonly first: readonly (Mean | null)[]
  readonly last: readonly (Mean | null)[]
  readonly rollouts: number
  readonly seconds: number
  readonly runs: readonly AblatedRun[]
}

export type Difference = {
  readonly first: string
  readonly second: string
  readonly split: string
  readonly difference: Mean
  readonly verdict: string
  /** One for each seed that both have. */
  readonly pairs: readonly { readonly seed: number; readonly value: number }[]
}

export type AblationCurve = {
  readonly setting: string
  /** Name of a split, or `training`. */
  readonly series: string
  readonly points: readonly { readonly x: number; readonly mean: Mean }[]
}

export type AblationPage = {
  readonly name: string
  readonly folder: string
  readonly command: string
  readonly seeds: readonly number[]
  readonly splits: readonly string[]
  readonly settings: readonly AblatedSetting[]
  readonly differences: readonly Difference[]
  readonly curves: readonly AblationCurve[]
}
