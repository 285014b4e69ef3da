/**
 * Hosts whose rollouts fail far oftener than those of others. A broken host fails fast, so it takes more work than any other. It
 * is put aside for some iterations, and its work goes to others. This is a matter of distribution: no decider hears of it, and what
 * a host failed at has no outcome, so no accuracy counts it.
 */
import type { EventData, NewEvent } from '../../events/catalogue.ts'
import type { Envelope } from '../../events/envelope.ts'
import { wilson } from '../../learning/interval.ts'
import { parseProcess } from '../../platform/process-id.ts'

export type AsideHost = EventData<'HostSetAside'>

export type SetAsides = {
  /** Takes an event of the log, in order. Returns the event to append if a host is to be put aside. */
  readonly see: (event: SeenEvent) => NewEvent | null
  /** Hosts that are aside now, by their place. */
  readonly now: () => ReadonlyMap<string, AsideHost>
}

/** An event, as far as a fold of the log needs it. */
export type SeenEvent = NewEvent & Pick<Envelope, 'actor' | 'cause'>

/** Tries of a host that count: the last ones. */
const WINDOW = 200
/** Fewer tries of a host, or of all others together, tell nothing. */
const LEAST_TRIES = 20
/** The host's failure rate is above this one. */
const LEAST_RATE = 0.1
/** How many times the rate of others that of the host is. */
const FACTOR = 3
/** Level of both intervals. Each failure is a look, so it is high. */
const LEVEL = 0.999
/** Iterations for which a host is put aside. */
const ITERATIONS = 3
/** Announcements of the head name so many at most. */
const MOST_ASIDE = 16

type Host = { readonly host: string; tries: boolean[] }

/**
 * The rule: of each host the last 200 tries of rollouts count. A try failed if its process told so (ActorFailed with a cause). It went
 * well if its rollout has an end that is no fault of the infrastructure. A host is put aside if the lower limit of its failure rate is
 * above 0.1, and above three times the upper limit of the rate of all other hosts that are not aside. Both are Wilson
 * intervals at 99.9 %, each over at least 20 tries. So no host is put aside if all fail alike, and never the only one.
 *
 * It comes back when the third iteration from then is over. Its count begins anew then, and with each start of the head.
 */
export function openSetAsides(): SetAsides {
  const placeOf = new Map<string, string>()
  const hosts = new Map<string, Host>()
  const aside = new Map<string, AsideHost>()
  let iteration = 0

  function count(worker: string, failed: boolean): void {
    const host = hosts.get(placeOf.get(worker) ?? '')
    if (!host) return
    host.tries.push(failed)
    if (host.tries.length > WINDOW) host.tries.shift()
  }

  /** Judges the host of a worker whose try failed. */
  function judge(worker: string): NewEvent | null {
    const place = placeOf.get(worker)
    const one = hosts.get(place ?? '')
    if (place === undefined || one === undefined || aside.has(place) || aside.size >= MOST_ASIDE) return null
    const others = [...hosts].filter(([other]) => other !== place && !aside.has(other))
    const own = rateOf(one.tries)
    const their = rateOf(others.flatMap(([, { tries }]) => tries))
    if (own.n < LEAST_TRIES || their.n < LEAST_TRIES) return null
    if (own.low <= LEAST_RATE || own.low <= FACTOR * their.high) return null
    return {
      type: 'HostSetAside',
      data: {
        host: one.host,
        place,
        failed: own.failed,
        tries: own.n,
        othersFailed: their.failed,
        othersTries: their.n,
        until: iteration + ITERATIONS,
      },
    }
  }

  function comeBack(completed: number): void {
    for (const [place, { until }] of aside)
      if (until <= completed) {
        aside.delete(place)
        const host = hosts.get(place)
        if (host) host.tries = []
      }
  }

  return {
    see({ type, data, actor, cause }) {
      switch (type) {
        case 'RunStarted':
        case 'RunResumed':
          if (data.codeVersion === undefined) return null
          aside.clear()
          for (const host of hosts.values()) host.tries = []
          return null
        case 'ActorStarted': {
          const place = parseProcess(data.process)?.place
          if (data.role !== 'environment' || place === undefined) return null
          placeOf.set(data.worker, place)
          if (!hosts.has(place)) hosts.set(place, { host: data.host, tries: [] })
          return null
        }
        case 'IterationStarted':
          iteration = Math.max(iteration, data.iteration)
          return null
        case 'IterationCompleted':
          comeBack(data.iteration)
          return null
        case 'TrajectoryCompleted':
          count(actor, false)
          return null
        case 'RolloutFailed':
          // The last try before told its fault itself.
          if (data.cause !== 'infra') count(actor, false)
          return null
        case 'ActorFailed':
          if (data.role !== 'environment' || cause === null) return null
          count(data.worker, true)
          return judge(data.worker)
        case 'HostSetAside':
          aside.set(data.place, data)
          return null
        default:
          return null
      }
    },
    now: () => aside,
  }
}

function rateOf(tries: readonly boolean[]) {
  const failed = tries.filter((one) => one).length
  const { low, high } = wilson(failed, tries.length, LEVEL)
  return { failed, n: tries.length, low, high }
}
