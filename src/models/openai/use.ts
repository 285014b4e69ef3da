/** Counts what an endpoint is used for: requests, tokens, faults and cost. */
import type { Generation } from '../port.ts'
import type { ModelOptions } from '../provider.ts'
import type { FaultKind } from './faults.ts'

/** What an endpoint was used for since it was opened. */
export type EndpointUse = {
  readonly requests: number
  /** Calls that were made again after a passing fault. */
  readonly retries: number
  readonly promptTokens: number
  readonly cachedTokens: number
  readonly completionTokens: number
  /** Images that were sent, each time that they were. */
  readonly images: number
  /** Answers without token ids or log-probs, or of another model: nothing can be learned from them. */
  readonly untrainable: number
  /** Prompts that were known not to fit. */
  readonly unsent: number
  /** Null where no price is known. */
  readonly cost: number | null
  /** Every fault, also those that a retry made good. */
  readonly faults: Readonly<Partial<Record<FaultKind, number>>>
}

type Counter = 'requests' | 'retries' | 'images' | 'untrainable' | 'unsent'

type UseCounter = {
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
