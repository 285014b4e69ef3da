/** Scales of charts. */

export type Scale = { readonly low: number; readonly high: number; readonly ticks: readonly number[] }

/**
 * Returns round ticks that cover a range.
 * @example ticksOf(0, 9) // { low: 0, high: 10, ticks: [0, 2, 4, 6, 8, 10] }
 */
export function ticksOf(low: number, high: number, wanted = 5): Scale {
  if (!(Number.isFinite(low) && Number.isFinite(high))) return { low: 0, high: 1, ticks: [0, 1] }
  if (low === high)
    return ticksOf(low === 0 ? 0 : low - Math.abs(low) / 2, high === 0 ? 1 : high + Math.abs(high) / 2)
  const rough = (high - low) / wanted
  const power = 10 ** Math.floor(Math.log10(rough))
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((size) => size >= rough) ?? 10 * power
  const from = Math.floor(low / step) * step
  const ticks: number[] = []
  for (let i = 0; from + i * step <= high + step * 0.999; i++)
    ticks.push(Number((from + i * step).toPrecision(12)))
  return { low: ticks[0] ?? low, high: ticks.at(-1) ?? high, ticks }
}

/** Returns whole ticks within a range, e.g. of iterations. */
export function wholeTicks(low: number, high: number, wanted = 8): readonly number[] {
  const step = Math.max(
    1,
    ...[1, 2, 5, 10, 20, 50, 100, 200, 500, 1000].filter((size) => (high - low) / size >= wanted),
  )
  const ticks: number[] = []
  for (let at = Math.ceil(low / step) * step; at <= high; at += step) ticks.push(at)
  return ticks
}

/** Returns rows as CSV. A cell with a comma, a quote or a line break is quoted. */
export function csvOf(
  head: readonly string[],
  rows: readonly (readonly (string | number | null)[])[],
): string {
  const cell = (value: string | number | null) => {
    const text = value === null ? '' : String(value)
    // A spreadsheet would take such a text for a formula.
    const safe = typeof value === 'string' && /^[=+\-@\t\r]/.test(text) ? `'${text}` : text
    return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
  }
  return [head, ...rows].map((row) => row.map(cell).join(',')).join('\n')
}
