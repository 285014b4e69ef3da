/** Compares a disturbed run with an undisturbed one, fact by fact. */
import { CATALOGUE, keyOf, type LoggedEvent } from '../../src/events/catalogue.ts'
import { digestOf } from '../../src/events/digest.ts'
import type { LogReader } from '../../src/events/log-reader.ts'
import { verifyLog } from '../../src/events/verify.ts'

/** How often each reproducible fact stands in a log, by a text that begins with its natural key. */
export type Facts = ReadonlyMap<string, number>

export type Verdict = {
  /** Facts of the undisturbed run that are not here, and rollouts that were asked for and have no result. */
  readonly lost: readonly string[]
  /** Facts that are here more often than there. */
  readonly twice: readonly string[]
}

export function factsOf(log: LogReader): Facts {
  const facts = new Map<string, number>()
  for (const event of log.events())
    if (CATALOGUE[event.type].reproducible) {
      const fact = nameOf(event)
      facts.set(fact, (facts.get(fact) ?? 0) + 1)
    }
  return facts
}

function nameOf(event: LoggedEvent): string {
  return `${keyOf(event) ?? event.type} ${digestOf([event]).slice(0, 16)}`
}

export function judge(log: LogReader, undisturbed: Facts): Verdict {
  const facts = factsOf(log)
  const more = (one: Facts, than: Facts) =>
    [...one].flatMap(([fact, count]) => Array<string>(Math.max(0, count - (than.get(fact) ?? 0))).fill(fact))
  const chain = verifyLog(log)
  return {
    lost: [...more(undisturbed, facts), ...openRollouts(log), ...(chain.ok ? [] : ['the chain of the log'])],
    twice: more(facts, undisturbed),
  }
}

function openRollouts(log: LogReader): readonly string[] {
  return [...log.events({ types: ['RolloutRequested'] })].flatMap((event) =>
    event.type === 'RolloutRequested' && log.positionOf('key', `Rollout/${event.data.rollout}`) === null
      ? [`the result of rollout ${event.data.rollout}`]
      : [],
  )
}
