/** The cost of a training: tokens of the agents' calls, time, and money if prices are set. */
import { newClock, skip, tick } from '../actors/head/run-clock.ts'
import { loggedConfig } from '../config.ts'
import type { LogReader } from '../events/log-reader.ts'

export type Cost = {
  readonly promptTokens: number
  readonly completionTokens: number
  /** Time of the run without pauses. */
  readonly seconds: number
  /** In the currency of the prices. Null if no price is set. */
  readonly money: number | null
}

const READ = [
  'RunStarted',
  'RunPaused',
  'RunResumed',
  'TrajectoryCompleted',
  'PolicyUpdated',
  'EvaluationCompleted',
  'RunCompleted',
] as const

/** Adds up the whole run. Calls of rollouts that failed are not in the log, and do not count. */
export function costOf(log: LogReader): Cost {
  const clock = newClock()
  let [promptTokens, completionTokens] = [0, 0]
  let prices: { readonly promptPrice: number | null; readonly completionPrice: number | null } | null = null
  for (const { type, data, time } of log.events({ types: READ })) {
    if (type === 'RunResumed') skip(clock, time)
    else tick(clock, time)
    if (type === 'RunStarted') prices = loggedConfig(data.config).policy.expert
    if (type !== 'TrajectoryCompleted') continue
    promptTokens += data.usage.promptTokens
    completionTokens += data.usage.completionTokens
  }
  const { promptPrice = null, completionPrice = null } = prices ?? {}
  const isPriced = promptPrice !== null || completionPrice !== null
  return {
    promptTokens,
    completionTokens,
    seconds: Math.round(clock.activeMs / 1000),
    money: isPriced
      ? (promptTokens * (promptPrice ?? 0) + completionTokens * (completionPrice ?? 0)) / 1e6
      : null,
  }
}

/** Returns a cost in words. */
export function costText({ promptTokens, completionTokens, seconds, money }: Cost): string {
  const spent = money === null ? '' : `, ${money.toFixed(2)} by your prices`
  return `it took ${seconds} s, and ${promptTokens} tokens read and ${completionTokens} written by the model${spent}`
}
