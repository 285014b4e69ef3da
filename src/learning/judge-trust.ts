/** How far a judge's estimates are trusted: by their correlation with those of the setting. */
import { correlation } from './interval.ts'

/** Correlation below which a judge's falls are not paid. */
const LEAST_CORRELATION = 0.5

/** Falls of a step: what a judge said, and what the setting said. */
type Falls = { readonly estimate?: { readonly fall: number } | undefined; readonly fall?: number | undefined }

/** Returns the correlation of a judge's falls with those of the setting, or null if the steps do not tell both. */
export function fallCorrelationOf(steps: readonly Falls[]): number | null {
  const told = steps.flatMap(({ estimate, fall }) =>
    estimate === undefined || fall === undefined ? [] : [[estimate.fall, fall] as const],
  )
  return correlation(told)?.value ?? null
}

/**
 * Returns the share of lambda that a judge with this correlation gets. It is 0 below 0.5, and if nothing was measured.
 * @example trustOf(0.75) // 0.75
 */
export function trustOf(found: number | null): number {
  return found === null || found < LEAST_CORRELATION ? 0 : Math.min(1, found)
}
