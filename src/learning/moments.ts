/**
 * Sums whose last bit does not depend on the order of the values. Events arrive in any order of workers, and a replay
 * in another order must give the same numbers.
 */

/** A standard deviation below this counts as zero (value of the released code). */
export const ZERO_DEVIATION = 1e-8

/** Returns the sum in ascending order of the values. It is the same for every order of the input. */
export function stableSum(values: Iterable<number>): number {
  let sum = 0
  for (const value of new Float64Array(values).sort()) sum += value
  return sum
}

/** Returns the arithmetic mean, or 0 for no values. */
export function stableMean(values: readonly number[] | Float64Array): number {
  return values.length === 0 ? 0 : stableSum(values) / values.length
}

export type Moments = {
  readonly n: number
  readonly mean: number
  /** Standard deviation. By default that of the population (divided by n). */
  readonly deviation: number
}

/** `sample`: the deviation is divided by n - 1. For one value it is 0. */
export function moments(
  values: readonly number[] | Float64Array,
  of: 'population' | 'sample' = 'population',
): Moments {
  const mean = stableMean(values)
  const squares = new Float64Array(values)
  for (const [i, value] of squares.entries()) squares[i] = (value - mean) ** 2
  const variance =
    of === 'population' ? stableMean(squares) : stableSum(squares) / Math.max(1, values.length - 1)
  return { n: values.length, mean, deviation: Math.sqrt(variance) }
}
