/**
 * The event digest. It is equal for two runs in which the same happened, whatever the order and time.
 * It covers reproducible types only, without id, time, position, cause, actor and measured values (`timing`,
 * `usage.cachedTokens`). Of RunStarted only the seed counts: code version and config have digests of their own.
 */
import { createHash } from 'node:crypto'
import { CATALOGUE, keyOf, type LoggedEvent, type NewEvent } from './catalogue.ts'
import { packCanonical } from './msgpack.ts'

export type EventDigest = {
  readonly add: (event: LoggedEvent | NewEvent) => void
  /** SHA-256 (hex) over all added events that count. */
  readonly value: () => string
  /** The same for the events of each iteration, in order of the iterations. */
  readonly byIteration: () => ReadonlyMap<number, string>
  /** Number of events that count. */
  readonly count: () => number
  /** Returns an independent copy over the same events. */
  readonly copy: () => EventDigest
}

type Fact = { readonly key: string; readonly hash: Buffer; readonly iteration: number | null }

export function openDigest(): EventDigest {
  return digestOver([])
}

function digestOver(facts: Fact[]): EventDigest {
  return {
    add(event) {
      const definition = CATALOGUE[event.type]
      if (!definition.reproducible) return
      const version = definition.digestVersion ?? definition.v
      const fact = packCanonical([event.type, version, comparable(event)])
      const hash = createHash('sha256').update(fact).digest()
      const iteration = 'iteration' in event.data ? (event.data.iteration ?? null) : null
      facts.push({ key: keyOf(event) ?? hash.toString('hex'), hash, iteration })
    },
    value: () => combine(facts),
    byIteration() {
      const groups = new Map<number, Fact[]>()
      for (const fact of facts) {
        if (fact.iteration === null) continue
        const group = groups.get(fact.iteration)
        if (group) group.push(fact)
        else groups.set(fact.iteration, [fact])
      }
      return new Map(
        [...groups].sort(([a], [b]) => a - b).map(([iteration, group]) => [iteration, combine(group)]),
      )
    },
    count: () => facts.length,
    copy: () => digestOver([...facts]),
  }
}

/** Returns the digest of a sequence of events, e.g. `openLogReader(path).events()`. */
export function digestOf(events: Iterable<LoggedEvent | NewEvent>): string {
  const digest = openDigest()
  for (const event of events) digest.add(event)
  return digest.value()
}

function comparable(event: LoggedEvent | NewEvent): unknown {
  return event.type === 'RunStarted' ? { seed: event.data.seed } : withoutMeasurements(event.data)
}

/** Returns data without values that depend on the moment: measured times, and tokens that a cache held. */
export function withoutMeasurements(data: NewEvent['data']): object {
  if (!('timing' in data) && !('usage' in data)) return data
  const { timing: _, ...rest } = { timing: undefined, ...data }
  if (!('usage' in rest)) return rest
  const { cachedTokens: __, ...usage } = rest.usage
  return { ...rest, usage }
}

function combine(facts: readonly { readonly key: string; readonly hash: Buffer }[]): string {
  const sorted = [...facts].sort((a, b) =>
    a.key < b.key ? -1 : a.key > b.key ? 1 : Buffer.compare(a.hash, b.hash),
  )
  const all = createHash('sha256')
  for (const { key, hash } of sorted) all.update(key).update('\0').update(hash)
  return all.digest('hex')
}
