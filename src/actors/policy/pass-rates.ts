/** Pass rates of a run's groups, for the rules of a batch that need them: folds of trajectories. */
import type { RulesConfig } from '../../config-schema/sections.ts'
import type { EventData } from '../../events/catalogue.ts'
import type { LogClient } from '../../events/log-client.ts'
import { openRateBook, type PassRates, type RateBook } from '../../learning/pass-rates.ts'
import { needsOfBatch, rulesOf } from '../../learning/registry.ts'
import { readEvents } from '../rollout/log-queries.ts'

const known = new WeakMap<RulesConfig, boolean>()

/** Whether a rule of the batch reads the pass rates of earlier groups. */
export function readsPassRates(config: RulesConfig): boolean {
  const found = known.get(config) ?? needsOfBatch(rulesOf(config)).has('passRates')
  known.set(config, found)
  return found
}

type Rated = Pick<EventData<'TrajectoryCompleted'>, 'purpose' | 'outcome' | 'task' | 'iteration'>

/** Enters a rollout for training. Others, and those without an outcome, do not count. */
export function seeRate(book: RateBook, { purpose, outcome, task, iteration }: Rated): void {
  if (purpose === 'evaluation' || outcome.kind !== 'scored') return
  book.see({ task, iteration, value: outcome.value, unsure: outcome.unsure === true })
}

/** Returns the pass rates until an iteration, which is over, or null if no rule reads them. Each call reads what is new in the log. */
export function openPassRates(
  config: RulesConfig,
  log: LogClient,
): (iteration: number) => Promise<PassRates | null> {
  if (!readsPassRates(config)) return async () => null
  const book = openRateBook()
  let from = 1
  return async (iteration) => {
    const { events, next } = await readEvents(log, from, ['TrajectoryCompleted'])
    from = next
    for (const { data } of events) seeRate(book, data)
    return book.until(iteration)
  }
}
