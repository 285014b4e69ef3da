/**
 * Sums whose last bit does not depend on the order of the values: events arrive in any order of workers, and a replay
 * in another order must give the same numbers.
 */

/** Below this a standard deviation counts as zero (reference value of the released code). */
export const ZERO_DEVIATION = 1e-8

/** Sum in ascending order of the values: the same for every order of the input. */
export function stableSum(values: Iterable<number>): number {
  let sum = 0
  for (const value of Float64Array.from(values).sort()) sum += value
  return sum
}

/** Arithmetic mean; 0 for no values. */
export function stableMean(values: readonly number[] | Float64Array): number {
  return values.length === 0 ? 0 : stableSum(values) / values.length
}

export type Moments = {
  readonly n: number
  readonly mean: number
  /** Population standard deviation: divided by n. */
  readonly deviation: number
}

export function moments(values: readonly number[] | Float64Array): Moments {
  const mean = stableMean(values)
  const squares = Float64Array.from(values, (value) => (value - mean) ** 2)
  return { n: values.length, mean, deviation: Math.sqrt(stableMean(squares)) }
}
