import { type Estimate, studentQuantile } from './interval.ts'
import { stableMean, stableSum } from './moments.ts'

export type LinearFit = {
  readonly slope: Estimate
  readonly intercept: number
  /** Share of the variance of y that the line explains. 1 if y does not vary. */
  readonly r2: number
}

/** Fits a least-squares line through (x, y), the slope with its t interval (n - 2 degrees of freedom). Returns null for fewer than 2 different x. */
export function linearFit(
  points: readonly (readonly [x: number, y: number])[],
  level = 0.95,
): LinearFit | null {
  const n = points.length
  const meanX = stableMean(points.map(([x]) => x))
  const meanY = stableMean(points.map(([, y]) => y))
  const xx = stableSum(points.map(([x]) => (x - meanX) ** 2))
  if (n < 2 || xx === 0) return null
  const xy = stableSum(points.map(([x, y]) => (x - meanX) * (y - meanY)))
  const yy = stableSum(points.map(([, y]) => (y - meanY) ** 2))
  const value = xy / xx
  const residual = Math.max(0, yy - value * xy)
  const half = n > 2 ? studentQuantile((1 + level) / 2, n - 2) * Math.sqrt(residual / (n - 2) / xx) : 0
  return {
    slope: { value, low: value - half, high: value + half, n },
    intercept: meanY - value * meanX,
    r2: yy === 0 ? 1 : 1 - residual / yy,
  }
}
