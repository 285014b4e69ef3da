export type Measurement = {
  readonly suite: string
  readonly name: string
  readonly value: number
  readonly unit: string
  /** Goal of design.md 9, e.g. `>= 20000`, or null if none was set. */
  readonly goal: string | null
  /** How many measurements the median is of. */
  readonly n: number
  readonly note?: string
}

/** @throws if the value is no finite number, or the goal is none: such a row would be lost */
export function report(measurement: Measurement): void {
  if (measurement.goal !== null) holds(measurement.value, measurement.goal)
  if (!Number.isFinite(measurement.value))
    throw new Error(`${measurement.suite} ${measurement.name} is ${measurement.value}`)
  const value = Number(measurement.value.toPrecision(5))
  process.stdout.write(`${JSON.stringify({ ...measurement, value, note: measurement.note ?? '' })}\n`)
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = sorted.length >> 1
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
}

/** The value below which the share `p` of the values lies (nearest rank). */
export function percentile(values: readonly number[], p: number): number {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.max(0, Math.ceil(p * sorted.length) - 1))]
}

/**
 * Returns whether a value holds a goal, e.g. `>= 20000`, `< 10`, or `0` for an exact value.
 * @throws if the goal is none of these
 */
export function holds(value: number, goal: string): boolean {
  const [, sign = '', text = ''] = /^(>=|<=|>|<|)\s*(-?[\d.,_]+)$/.exec(goal.trim()) ?? []
  const bound = Number(text.replaceAll(/[,_]/g, ''))
  if (text === '' || Number.isNaN(bound)) throw new Error(`'${goal}' is no goal`)
  if (sign === '>=') return value >= bound
  if (sign === '<=') return value <= bound
  if (sign === '>') return value > bound
  return sign === '<' ? value < bound : value === bound
}
