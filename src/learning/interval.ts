/** Estimates with intervals. Every estimate has its n. The caller chooses the unit of n: rollout, task or seed. */
import { itemAt } from '../item-at.ts'
import { rng, type Seed } from '../random.ts'
import { betaCdf } from './beta.ts'
import { stableMean, stableSum, ZERO_DEVIATION } from './moments.ts'

export type Estimate = {
  readonly value: number
  /** Confidence limits. Equal to the value if there is no spread to estimate from (n < 2). */
  readonly low: number
  readonly high: number
  readonly n: number
}

const LEVEL = 0.95

/**
 * Returns the Wilson score interval of a share (Wilson 1927). It keeps its coverage near 0 and 1, and for small n. n = 0 gives [0, 1].
 * @example wilson(3, 10) // { value: 0.3, low: 0.108, high: 0.603, n: 10 }, rounded
 */
export function wilson(successes: number, n: number, level = LEVEL): Estimate {
  if (n === 0) return { value: 0, low: 0, high: 1, n }
  const z = normalQuantile((1 + level) / 2)
  const share = successes / n
  const scale = 1 + z ** 2 / n
  const centre = (share + z ** 2 / (2 * n)) / scale
  const half = (z / scale) * Math.sqrt((share * (1 - share)) / n + z ** 2 / (4 * n ** 2))
  const low = successes === 0 ? 0 : Math.max(0, centre - half)
  const high = successes === n ? 1 : Math.min(1, centre + half)
  return { value: share, low, high, n }
}

/**
 * Returns the mean with Student's t interval (sample variance, n - 1 degrees of freedom).
 * @example meanT([1, 2, 3]) // { value: 2, low: -0.48, high: 4.48, n: 3 }, rounded
 */
export function meanT(values: readonly number[], level = LEVEL): Estimate {
  const n = values.length
  const value = stableMean(values)
  if (n < 2) return { value, low: value, high: value, n }
  const variance = stableSum(values.map((one) => (one - value) ** 2)) / (n - 1)
  const half = studentQuantile((1 + level) / 2, n - 1) * Math.sqrt(variance / n)
  return { value, low: value - half, high: value + half, n }
}

/** Rollouts of one task. */
type Cluster = { readonly successes: number; readonly n: number }

/**
 * Returns the share of successes with an interval by task. Rollouts of one task resemble each other, so they are no independent
 * draws. The variance is the one of a ratio of cluster totals (Cochran 1977, section 3.9), with Student's t on tasks - 1 degrees
 * of freedom. `n` is the number of tasks with rollouts. Fewer than two tasks give [0, 1].
 * @example clusteredShare([{ successes: 1, n: 4 }, { successes: 3, n: 4 }]) // { value: 0.5, low: 0, high: 1, n: 2 }
 */
export function clusteredShare(tasks: readonly Cluster[], level = LEVEL): Estimate {
  const played = tasks.filter((task) => task.n > 0)
  const total = stableSum(played.map((task) => task.n))
  const clusters = played.length
  const value = total === 0 ? 0 : stableSum(played.map((task) => task.successes)) / total
  if (clusters < 2) return { value, low: 0, high: 1, n: clusters }
  const squares = stableSum(played.map((task) => (task.successes - value * task.n) ** 2))
  const deviation = Math.sqrt((squares * clusters) / (clusters - 1)) / total
  const half = studentQuantile((1 + level) / 2, clusters - 1) * deviation
  return { value, low: Math.max(0, value - half), high: Math.min(1, value + half), n: clusters }
}

/**
 * Returns the mean with a percentile bootstrap interval. Independent units (tasks, not rollouts) are resampled with replacement.
 * @example meanBootstrap([0, 1, 1, 0, 1], { seed: [7, 0] }) // { value: 0.6, low: 0.2, high: 1, n: 5 }
 */
export function meanBootstrap(
  values: readonly number[],
  { seed, resamples = 2000, level = LEVEL }: { seed: Seed; resamples?: number; level?: number },
): Estimate {
  const n = values.length
  const value = stableMean(values)
  if (n < 2) return { value, low: value, high: value, n }
  const sorted = Float64Array.from(values).sort()
  const { below } = rng(seed)
  const means = new Float64Array(resamples)
  for (let r = 0; r < resamples; r++) {
    let sum = 0
    for (let i = 0; i < n; i++) sum += itemAt(sorted, below(n))
    means[r] = sum / n
  }
  means.sort()
  const at = (share: number) => itemAt(means, Math.min(resamples - 1, Math.floor(share * resamples)))
  return { value, low: at((1 - level) / 2), high: at((1 + level) / 2), n }
}

/**
 * Returns the mean of second - first over pairs (same seed, same task), with Student's t interval over the pairs.
 * @example pairedDifference([[0.4, 0.5], [0.6, 0.9]]).value // 0.2
 */
export function pairedDifference(
  pairs: readonly (readonly [first: number, second: number])[],
  level = LEVEL,
): Estimate {
  return meanT(
    pairs.map(([first, second]) => second - first),
    level,
  )
}

/**
 * Returns first less second, of two independent estimates. The limits follow from the limits of each (MOVER, Zou and Donner
 * 2008). For Wilson intervals of two shares this is method 10 of Newcombe 1998.
 */
export function estimateDifference(first: Estimate, second: Estimate): Estimate {
  const value = first.value - second.value
  return {
    value,
    low: value - Math.hypot(first.value - first.low, second.high - second.value),
    high: value + Math.hypot(first.high - first.value, second.value - second.low),
    n: first.n + second.n,
  }
}

/**
 * Returns Pearson's correlation with Fisher's z interval (n > 3, else [-1, 1]). Returns null if x or y does not vary.
 * @example correlation([[1, 2], [2, 4], [3, 5], [4, 9]])?.value // 0.965, rounded
 */
export function correlation(
  points: readonly (readonly [x: number, y: number])[],
  level = LEVEL,
): Estimate | null {
  const n = points.length
  const meanX = stableMean(points.map(([x]) => x))
  const meanY = stableMean(points.map(([, y]) => y))
  const xx = stableSum(points.map(([x]) => (x - meanX) ** 2))
  const yy = stableSum(points.map(([, y]) => (y - meanY) ** 2))
  if (Math.min(xx, yy) <= n * ZERO_DEVIATION ** 2) return null
  const xy = stableSum(points.map(([x, y]) => (x - meanX) * (y - meanY)))
  const value = Math.max(-1, Math.min(1, xy / Math.sqrt(xx * yy)))
  if (n < 4) return { value, low: -1, high: 1, n }
  const half = normalQuantile((1 + level) / 2) / Math.sqrt(n - 3)
  const z = Math.atanh(value)
  return { value, low: Math.tanh(z - half), high: Math.tanh(z + half), n }
}

/** Returns a quantile of Student's t distribution with these degrees of freedom, by bisection on its distribution function. */
export function studentQuantile(p: number, degrees: number): number {
  if (p < 0.5) return -studentQuantile(1 - p, degrees)
  let low = 0
  let high = 1
  while (studentCdf(high, degrees) < p) high *= 2
  for (let i = 0; i < 80; i++) {
    const middle = (low + high) / 2
    if (studentCdf(middle, degrees) < p) low = middle
    else high = middle
  }
  return (low + high) / 2
}

/** Returns the chance of |T| >= t by Student's t distribution with these degrees of freedom, for t >= 0. */
export function studentP(t: number, degrees: number): number {
  return betaCdf(degrees / (degrees + t * t), degrees / 2, 0.5)
}

/** t >= 0. */
function studentCdf(t: number, degrees: number): number {
  return 1 - studentP(t, degrees) / 2
}

/** Returns the normal quantile. It is Student's with very many degrees of freedom (error below 1e-6). */
function normalQuantile(p: number): number {
  return studentQuantile(p, 1e7)
}
