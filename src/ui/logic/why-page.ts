/** Answer to the question why success fell, or rose, at a point of its curve. */

type Interval = {
  readonly value: number
  readonly low: number
  readonly high: number
  readonly n: number
}

/** Something that may have moved the curve. */
export type WhyChange = {
  readonly what: string
  readonly was: string
  readonly now: string
  /** Its meaning, in a sentence. */
  readonly meaning: string
  /** True if it stands out: look here first. */
  readonly isOdd: boolean
  /** Page that shows more: parts of an address below the run. */
  readonly page: readonly (string | number)[] | null
}

export type WhyPage = {
  readonly series: string
  readonly iteration: number
  /** Iteration that was measured before. Null if this is the first. */
  readonly before: number | null
  /** Iterations with this series, in order. */
  readonly iterations: readonly number[]
  readonly now: Interval
  readonly was: Interval | null
  /** Now less before, by task. */
  readonly difference: Interval | null
  /** The same by rollouts, which claims too much: rollouts of a task resemble each other. */
  readonly byRollout: Interval | null
  /** Now less before, over tasks that were measured both times. Null if fewer than two were. */
  readonly paired: Interval | null
  readonly verdict: { readonly kind: 'better' | 'worse' | 'open'; readonly text: string }
  readonly changes: readonly WhyChange[]
}

/**
 * Says whether success changed at all, and how sure that is.
 * @example changeVerdict({ was: 0.7, now: 0.6, low: -0.2, high: 0.05, looksSure: true, of: '16 tasks' }).kind // 'open'
 */
export function changeVerdict(of: {
  readonly was: number
  readonly now: number
  readonly low: number
  readonly high: number
  /** Whether rollouts alone would call it a change. */
  readonly looksSure: boolean
  readonly of: string
}): WhyPage['verdict'] {
  const points = (share: number) => `${share > 0 ? '+' : ''}${Math.round(share * 100)}`
  const figures = `from ${Math.round(of.was * 100)} % to ${Math.round(of.now * 100)} %, ${points(of.now - of.was)} points [${points(of.low)}, ${points(of.high)}] over ${of.of}`
  if (of.high < 0) return { kind: 'worse', text: `It fell: ${figures}.` }
  if (of.low > 0) return { kind: 'better', text: `It rose: ${figures}.` }
  const trap = of.looksSure
    ? ' Counted by rollouts it would look sure, but rollouts of one task resemble each other.'
    : ''
  return { kind: 'open', text: `This may be chance: ${figures}.${trap}` }
}
