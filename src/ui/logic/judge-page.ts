/** Answer of the page of the judge: its verdicts against what is known of the steps. */
import type { JudgePoint } from './answers.ts'

/** Majority of a step's verdicts. */
export const VERDICTS = ['bad', 'undecided', 'good'] as const
export type Verdict = (typeof VERDICTS)[number]

/** Truth about a step. By progress it is its own worth, by outcome the end of its rollout. */
export const TRUTHS = ['bad', 'unknown', 'good'] as const
export type Truth = (typeof TRUTHS)[number]

export const MEASURES = ['progress', 'outcome'] as const
export type Measure = (typeof MEASURES)[number]

export type JudgedRow = {
  readonly rollout: string
  readonly step: number
  readonly action: string
  readonly verdict: Verdict
  readonly truth: Truth
  readonly probability: number | null
  readonly progress: number | null
  /** Text of the first verdict. */
  readonly critique: string
  readonly position: number
}

export type JudgePage = {
  readonly iteration: number
  /** Neighbours with verdicts. Null at an end. */
  readonly before: number | null
  readonly after: number | null
  readonly rewardModelVersion: number | null
  /** Whether the judge is the setting's own estimate, by which progress is told too. */
  readonly isEstimate: boolean
  readonly steps: number
  /** [verdict, truth] numbers of steps. */
  readonly matrices: Readonly<Record<Measure, readonly (readonly number[])[]>>
  /** Measure that the rows are compared with. */
  readonly by: Measure
  /** Most certain verdicts first. */
  readonly rows: readonly JudgedRow[]
  /** Number of all such steps. */
  readonly found: number
  readonly curve: readonly JudgePoint[]
}
