/** Counts what an endpoint is used for: requests, tokens, faults and cost. */
import type { Generation } from '../port.ts'
import type { ModelOptions } from '../provider.ts'
import type { FaultKind } from './faults.ts'

/** Counters of an endpoint since it was opened. */
export type EndpointUse = {
  readonly requests: number
  /** Number of calls that were repeated after a passing fault. */
  readonly retries: number
  readonly promptTokens: number
  readonly cachedTokens: number
  readonly completionTokens: number
  /** Number of images sent, counted each time. */
  readonly images: number
  /** Number of answers without token ids or log-probs, or from another model. Nothing can be learned from them. */
  readonly untrainable: number
  /** Number of prompts that were not sent because they cannot fit. */
  readonly unsent: number
  /** In the currency of the prices. Null if no price is known. */
  readonly cost: number | null
  /** Number of faults by kind, also of those that a retry mended. */
  readonly faults: Readonly<Partial<Record<FaultKind, number>>>
}

type Counter = 'requests' | 'retries' | 'images' | 'untrainable' | 'unsent'

export type UseCounter = {
  readonly add: (counter: Counter, count?: number) => void
  readonly addTokens: (usage: Generation['usage']) => void
  readonly addFault: (kind: FaultKind) => void
  readonly use: () => EndpointUse
  /** Returns all counts by name. The cost is absent if no price is known. */
  readonly counts: () => Readonly<Record<string, number>>
}

/** Prices are per million tokens, or null. */
export function countUse({
  promptPrice,
  completionPrice,
}: Pick<ModelOptions, 'promptPrice' | 'completionPrice'>): UseCounter {
  const used = {
    requests: 0,
    retries: 0,
    promptTokens: 0,
    cachedTokens: 0,
    completionTokens: 0,
    images: 0,
    untrainable: 0,
    unsent: 0,
  }
  const faults: Partial<Record<FaultKind, number>> = {}

  function cost(): number | null {
    if (promptPrice === null && completionPrice === null) return null
    return (used.promptTokens * (promptPrice ?? 0) + used.completionTokens * (completionPrice ?? 0)) / 1e6
  }

  const use = (): EndpointUse => ({ ...used, cost: cost(), faults: { ...faults } })

  return {
    add(counter, count = 1) {
      used[counter] += count
    },
    addTokens({ promptTokens, cachedTokens, completionTokens }) {
      used.promptTokens += promptTokens
      used.cachedTokens += cachedTokens
      used.completionTokens += completionTokens
    },
    addFault(kind) {
      faults[kind] = (faults[kind] ?? 0) + 1
    },
    use,
    counts() {
      const { cost, faults, ...counts } = use()
      const named = Object.entries(faults).map(([kind, count]) => [`fault ${kind}`, count])
      return { ...counts, ...(cost === null ? {} : { cost }), ...Object.fromEntries(named) }
    },
  }
}
