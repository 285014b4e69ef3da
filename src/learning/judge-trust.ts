/** How far a judge's estimates are trusted: by their correlation with those of the setting. */
import { moments, stableSum, ZERO_DEVIATION } from './moments.ts'

/** Correlation below which a judge's falls are not paid. */
const LEAST_CORRELATION = 0.5

/**
 * Returns Pearson's correlation. It does not depend on the order of the pairs. Returns null if either side does not vary.
 * @example correlationOf([[0, 0], [1, 2]]) // 1
 */
export function correlationOf(pairs: readonly (readonly [number, number])[]): number | null {
  const [a, b] = [moments(pairs.map(([one]) => one)), moments(pairs.map(([, other]) => other))]
  if (pairs.length < 2 || a.deviation < ZERO_DEVIATION || b.deviation < ZERO_DEVIATION) return null
  const sum = stableSum(pairs.map(([one, other]) => (one - a.mean) * (other - b.mean)))
  return Math.max(-1, Math.min(1, sum / (pairs.length * a.deviation * b.deviation)))
}

/** Falls of a step: what a judge said, and what the setting said. */
type Falls = { readonly estimate?: { readonly fall: number } | undefined; readonly fall?: number | undefined }

/** Returns the correlation of a judge's falls with those of the setting, or null if the steps do not tell both. */
export function fallCorrelationOf(steps: readonly Falls[]): number | null {
  return correlationOf(
    steps.flatMap(({ estimate, fall }) =>
      estimate === undefined || fall === undefined ? [] : [[estimate.fall, fall] as const],
    ),
  )
}

/**
 * Returns the share of lambda that a judge with this correlation gets. It is 0 below 0.5, and if nothing was measured.
 * @example trustOf(0.75) // 0.75
 */
export function trustOf(correlation: number | null): number {
  return correlation === null || correlation < LEAST_CORRELATION ? 0 : Math.min(1, correlation)
}
