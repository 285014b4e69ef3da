/**
 * Reads from a position, then live, without a gap and in order. Live events have their position. Known events are dropped. If one is
 * missing, the log is read.
 */
import { z } from 'zod'
import { RlError } from '../errors.ts'
import type { Platform } from '../platform/platform.ts'
import type { Bus, BusAddress, BusMessage } from './bus.ts'
import type { EventType, LoggedEvent } from './catalogue.ts'
import { createLiveBuffer } from './live-buffer.ts'
import { createLiveCheck } from './live-check.ts'
import { connectLog, isTransient } from './log-client.ts'
import { parseRequest } from './log-protocol.ts'
import type { Bounds } from './msgpack.ts'
import { connectBus } from './nats/connect.ts'
import { EPOCH_HEADER, POSITION_HEADER, subjectsOf } from './subjects.ts'

type Source = { readonly bus: Bus } | BusAddress

export type SubscribeOptions<T extends EventType = EventType> = Source & {
  readonly run: string
  /** First position to read: one more than the last stored position. 1 is the beginning. */
  readonly from?: number
  /**
   * A stored position and its hash by `seen`. If the log was rolled back since, the subscription fails with `log.rolled-back`.
   */
  readonly seen?: Seen
  /** Only these types. Others are skipped, but their positions count. */
  readonly types?: readonly T[]
  /** Called once, after everything in the log at that time was handled. The next event waits for it. */
  readonly onCaughtUp?: (position: number) => void | Promise<void>
  readonly platform?: Platform
}

/** A position of the log and the chain's hash there (hex). */
export type Seen = { readonly position: number; readonly hash: string }

export type Subscription = {
  /** Last handled position (events of other types included). */
  readonly position: () => number
  /** Newest handled position with a known hash. Store it with the results of the events. Null before the first. */
  readonly seen: () => Seen | null
  /** Resolves once the subscription was stopped. Rejects with the error of the handler that ended it. */
  readonly done: Promise<void>
  /** Stops after the event in hand. */
  readonly stop: () => Promise<void>
}

const PAGE = 1_000

const SAID_BOUNDS: Bounds = { bytes: 1024, values: 32 }

export const headSays = z.object({
  position: z.int().nonnegative(),
  hash: z.string().max(64).optional(),
  epoch: z.int().nonnegative().optional(),
  /** Present if a person has paused the run: no new rollout begins. */
  paused: z.boolean().optional(),
  /** Present if the run is over: this head ends, and no other follows. */
  over: z.boolean().optional(),
  /** Places of hosts that are put aside. Absent if there are none. */
  aside: z.array(z.string().max(16)).max(16).optional(),
})

/** Decodes and checks an announcement of the head. Errors: `event.malformed`, `bus.bad-request`. */
export function readHeadSays(body: Uint8Array): z.infer<typeof headSays> {
  return parseRequest(headSays, body, SAID_BOUNDS)
}

/**
 * Calls the handler for one event after the other. To see every event exactly once, store `event.position` in the same transaction
 * as the event's result, and begin at the stored position + 1.
 *
 * @example
 * const subscription = await subscribe({ url, run, from: stored + 1, types: ['PolicyUpdated'] }, (event) => {
 *   console.log(event.position, event.data.version)
 * })
 */
export function subscribe<T extends EventType = EventType>(
  options: SubscribeOptions<T>,
  handler: (event: LoggedEvent<T>) => void | Promise<void>,
): Promise<Subscription> {
  return subscribeBatches<T>(options, async (events) => {
    for (const event of events) {
      const result = handler(event)
      if (result) await result
    }
  })
}

/**
 * As `subscribe`, with all events that are ready at a time (at least one). It is for readers that store many in one transaction.
 * `upTo` is the last position of the batch.
 * @example
 * const { done } = await subscribeBatches({ url, run }, (events, upTo) => console.log(events.length, upTo))
 * await done
 */
export async function subscribeBatches<T extends EventType = EventType>(
  options: SubscribeOptions<T>,
  handler: (events: readonly LoggedEvent<T>[], upTo: number) => void | Promise<void>,
): Promise<Subscription> {
  const { run, from = 1, types, onCaughtUp, platform } = options
  if (!Number.isSafeInteger(from) || from < 1)
    throw new RlError(`a subscription cannot begin at position ${from}`, {
      code: 'log.bad-position',
      hint: 'positions begin at 1',
    })
  const subjects = subjectsOf(run)
  const bus = 'bus' in options ? options.bus : await connectBus({ ...options, name: 'rlanything-subscriber' })
  const log = connectLog({ bus, run, actor: 'subscriber', platform })
  const live = createLiveBuffer()
  const inOrder = createLiveCheck<T>(log, bus, types ? new Set(types) : null)

  let next = from
  let behind = true
  let seen = options.seen ?? null
  let caughtUp = false
  let stopped = false
  let wake: () => void = () => {}

  function receive(message: BusMessage): void {
    const position = Number(message.header(POSITION_HEADER))
    if (!Number.isSafeInteger(position) || !isOfEpoch(message) || position < next) return
    const type = message.subject.slice(message.subject.lastIndexOf('.') + 1)
    if (!live.push({ position, body: message.body, type })) behind = true
    wake()
  }

  /** Drops messages of a former head. A newer epoch is not believed: the log is read, and its answer tells. */
  function isOfEpoch(message: BusMessage): boolean {
    const told = Number(message.header(EPOCH_HEADER) ?? 0)
    hearEpoch(told)
    return told === log.epoch()
  }

  function hearEpoch(told: number): void {
    if (told <= log.epoch()) return
    behind = true
    wake()
  }

  /** The head reports the last position now and then, after publishing. An event that is not here by then was lost. */
  function hearHead(message: BusMessage): void {
    const { position, hash, epoch = 0 } = readHeadSays(message.body)
    hearEpoch(epoch)
    if (hash && epoch === log.epoch() && position < next) seen = { position, hash }
    const reached = live.last() ?? next - 1
    if (position > reached) {
      behind = true
      wake()
    }
  }

  async function deliver(events: readonly LoggedEvent<T>[], upTo: number): Promise<void> {
    if (events.length > 0) await handler(events, upTo)
    next = upTo + 1
  }

  async function catchUp(): Promise<void> {
    behind = false
    const page = await log.read({
      from: next,
      types: types ? [...types] : undefined,
      limit: PAGE,
      seen: seen ?? undefined,
      epoch: log.epoch(),
    })
    const events: LoggedEvent<T>[] = []
    for (const [position, body] of page.events)
      events.push((await log.decode(position, body)) as LoggedEvent<T>)
    await deliver(events, page.next - 1)
    if (page.hash !== '') seen = { position: page.next - 1, hash: page.hash }
    if (page.next <= page.head) behind = true
    else if (!caughtUp) {
      caughtUp = true
      await onCaughtUp?.(next - 1)
    }
  }

  async function takeLive(): Promise<void> {
    const batch = await inOrder(live.take(), next)
    if (batch.isBroken) behind = true
    if (batch.next > next) await deliver(batch.ready, batch.next - 1)
  }

  async function loop(): Promise<void> {
    while (!stopped) {
      const woken = new Promise<void>((resolve) => {
        wake = resolve
      })
      try {
        if (behind) await catchUp()
        else if (!live.isEmpty()) await takeLive()
        else await woken
      } catch (error) {
        if (stopped) return
        if (!isTransient(error)) throw error
        behind = true
      }
    }
  }

  const leave = [
    bus.subscribe(subjects.evt('*'), receive),
    bus.subscribe(subjects.tap('head'), hearHead),
    bus.onReconnect(() => {
      behind = true
      wake()
    }),
  ]
  async function end(): Promise<void> {
    stopped = true
    for (const unsubscribe of leave) unsubscribe()
    log.close()
    if (!('bus' in options)) await bus.close()
  }
  const done = loop().finally(end)
  done.catch(() => {})
  return {
    position: () => next - 1,
    seen: () => seen,
    done,
    async stop() {
      stopped = true
      log.close()
      wake()
      await done.catch(() => {})
    },
  }
}
