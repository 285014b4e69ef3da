/**
 * A broker in memory, with what a run needs of NATS and JetStream: subjects, requests, work queues that hand out until they are
 * told that it is done, and stores whose keys are written by compare and set. Its store outlives it, as a file store does.
 */

import { RlError } from '../../src/errors.ts'
import type { BusMessage, Headers, WorkQueue } from '../../src/events/bus.ts'
import type { StoredValue } from '../../src/events/keyed-store.ts'
import type { Faults } from './faults.ts'
import type { Scheduler } from './scheduler.ts'

/** What a connection hears on: `deliver` crosses its link. */
type Listener = {
  readonly pattern: string
  /** Of the members of a group one gets a message. */
  readonly group: string | null
  readonly connection: object
  readonly deliver: (message: Sent) => void
}

export type Sent = BusMessage & {
  /** Takes the answer where one is awaited. */
  readonly reply: ((answer: Answer) => void) | null
}

export type Answer =
  | { readonly body: Uint8Array; readonly headers: Headers }
  | { readonly error: RlError; readonly headers: Headers }

/** A worker's side of a queue. */
type Taker = {
  readonly queue: string
  readonly connection: object
  /** Deliveries that it takes now. */
  readonly free: () => number
  readonly deliver: (handed: Handed) => void
}

export type Handed = {
  readonly message: BusMessage
  readonly attempt: number
  readonly renew: () => void
  readonly done: () => void
  readonly again: (ms: number) => void
}

type Held = {
  readonly sequence: number
  readonly message: BusMessage
  attempts: number
  /** Ends the wait for an answer of who has it in hand; null while nobody has. */
  endWait: (() => void) | null
  readyAt: number
}

type Queue = WorkQueue & {
  ackWaitMs: number
  next: number
  readonly held: Map<number, Held>
  readonly ids: Map<string, number>
}

export type Broker = {
  readonly listen: (listener: Listener) => () => void
  readonly take: (taker: Taker) => () => void
  /** Forgets all that this connection listened to and took from. */
  readonly drop: (connection: object) => void
  /** Gives a message to who listens, and to the queue of its subject. Returns the number of the listeners. */
  readonly send: (message: Sent) => number
  readonly ensureQueue: (queue: WorkQueue & { ackWaitMs: number }) => void
  readonly enqueue: (message: BusMessage, id: string | null) => number
  readonly look: (queue: WorkQueue, sequence: number) => BusMessage | null
  readonly ensureStore: (name: string) => void
  readonly valueOf: (store: string, key: string) => StoredValue | null
  /** Writes if the key still has this revision. */
  readonly update: (store: string, key: string, value: Uint8Array, revision: number) => void
  readonly ensureRecords: (stream: string) => void
  readonly lastRecord: (stream: string) => number
  readonly recordOf: (stream: string, number: number) => Uint8Array | null
  /** Appends if the newest record has the number `after`, or this very record stands behind it. */
  readonly appendRecord: (stream: string, body: Uint8Array, after: number) => void
  /** Messages that wait or are in hand, by queue. */
  readonly queued: () => ReadonlyMap<string, number>
  readonly queueNames: () => readonly string[]
  /** A worker has room again. */
  readonly nudge: () => void
  readonly forget: (queue: string) => void
  readonly wipe: () => void
}

export type BrokerOptions = {
  readonly scheduler: Scheduler
  readonly faults: Faults
  /** Hears of a message that a worker says is done. */
  readonly onDone: (queue: string, message: BusMessage) => void
}

export function openBroker({ scheduler, faults, onDone }: BrokerOptions): Broker {
  const listeners = new Set<Listener>()
  /** By subject, until who listens changes. */
  let found = new Map<string, readonly Listener[]>()
  const takers = new Set<Taker>()
  const queues = new Map<string, Queue>()
  const stores = new Map<string, Map<string, StoredValue>>()
  const streams = new Map<string, Uint8Array[]>()

  function listenersOf(subject: string): readonly Listener[] {
    let those = found.get(subject)
    if (!those) {
      those = [...listeners].filter(({ pattern }) => matches(pattern, subject))
      found.set(subject, those)
    }
    return those
  }

  function hand(queue: Queue, held: Held, taker: Taker): void {
    held.attempts++
    held.endWait?.()
    const wait = () => {
      held.endWait?.()
      held.endWait = scheduler.at(scheduler.now() + queue.ackWaitMs, () => {
        held.endWait = null
        pump(queue)
      })
    }
    const isHeld = () => queues.get(queue.name) === queue && queue.held.get(held.sequence) === held
    wait()
    taker.deliver({
      message: held.message,
      attempt: held.attempts,
      renew() {
        if (isHeld() && held.endWait !== null) wait()
      },
      done() {
        if (!isHeld()) return
        held.endWait?.()
        queue.held.delete(held.sequence)
        onDone(queue.name, held.message)
      },
      again(ms) {
        if (!isHeld() || held.endWait === null) return
        held.endWait()
        held.endWait = null
        held.readyAt = scheduler.now() + ms
        scheduler.at(held.readyAt, () => pump(queue))
      },
    })
  }

  function takerOf(queue: Queue): Taker | null {
    const free = [...takers].filter((taker) => taker.queue === queue.name && taker.free() > 0)
    return free.length === 0 ? null : free[Math.floor(faults.draw('taker', queue.name) * free.length)]
  }

  /** Hands out what is ready to whom has room. */
  function pump(queue: Queue): void {
    for (const held of queue.held.values()) {
      if (held.endWait !== null || held.readyAt > scheduler.now()) continue
      const taker = takerOf(queue)
      if (taker === null) return
      hand(queue, held, taker)
      if (faults.strike('redeliver', queue.name) === null) continue
      scheduler.at(scheduler.now() + 30, () => {
        const other = queue.held.has(held.sequence) && takerOf(queue)
        if (other) hand(queue, held, other)
      })
    }
  }

  function pumpAll(): void {
    for (const queue of queues.values()) pump(queue)
  }

  function add(queue: Queue, message: BusMessage, id: string | null): number {
    const before = id === null ? undefined : queue.ids.get(id)
    if (before !== undefined) return before
    const sequence = queue.next++
    queue.held.set(sequence, { sequence, message, attempts: 0, endWait: null, readyAt: 0 })
    if (id !== null) queue.ids.set(id, sequence)
    pump(queue)
    return sequence
  }

  function queueOf(subject: string): Queue | undefined {
    for (const queue of queues.values()) if (queue.subject === subject) return queue
    return undefined
  }

  function dropQueue(name: string): void {
    for (const held of queues.get(name)?.held.values() ?? []) held.endWait?.()
    queues.delete(name)
  }

  return {
    listen(listener) {
      listeners.add(listener)
      found = new Map()
      return () => {
        if (listeners.delete(listener)) found = new Map()
      }
    },
    take(taker) {
      takers.add(taker)
      pumpAll()
      return () => void takers.delete(taker)
    },
    drop(connection) {
      for (const listener of listeners) if (listener.connection === connection) listeners.delete(listener)
      for (const taker of takers) if (taker.connection === connection) takers.delete(taker)
      found = new Map()
    },
    send(message) {
      const those = listenersOf(message.subject)
      const groups = new Map<string, Listener[]>()
      for (const listener of those) {
        if (listener.group === null) listener.deliver(message)
        else groups.set(listener.group, [...(groups.get(listener.group) ?? []), listener])
      }
      for (const [group, members] of groups)
        members[Math.floor(faults.draw('member', group) * members.length)].deliver(message)
      return those.length
    },
    ensureQueue({ name, subject, ackWaitMs }) {
      if (queues.has(name)) return
      queues.set(name, { name, subject, ackWaitMs, next: 1, held: new Map(), ids: new Map() })
    },
    enqueue(message, id) {
      const queue = queueOf(message.subject)
      if (!queue) throw new RlError('no stream has this subject', { code: 'bus.no-responder' })
      if (id !== null && faults.strike('refuse', queue.name) !== null)
        throw new RlError('maximum bytes exceeded', { code: 'bus.failed' })
      return add(queue, message, id)
    },
    look: ({ name }, sequence) => queues.get(name)?.held.get(sequence)?.message ?? null,
    ensureStore(name) {
      if (!stores.has(name)) stores.set(name, new Map())
    },
    ensureRecords(stream) {
      if (!streams.has(stream)) streams.set(stream, [])
    },
    lastRecord(stream) {
      const records = streams.get(stream)
      if (records) return records.length
      throw new RlError(`there are no records ${stream}`, { code: 'bus.failed' })
    },
    recordOf: (stream, number) => streams.get(stream)?.[number - 1] ?? null,
    appendRecord(stream, body, after) {
      const records = streams.get(stream)
      if (!records) throw new RlError(`there are no records ${stream}`, { code: 'bus.no-jetstream' })
      if (records.length === after) records.push(Uint8Array.from(body))
      else if (Buffer.compare(records[after] ?? new Uint8Array(), body) !== 0)
        throw new RlError(`${stream} has another record ${after + 1}`, { code: 'record.taken' })
    },
    valueOf: (name, key) => stores.get(name)?.get(key) ?? null,
    update(name, key, value, expected) {
      const values = stores.get(name)
      if (!values) throw new RlError('no stream has this subject', { code: 'bus.no-responder' })
      const revision = values.get(key)?.revision ?? 0
      if (expected !== revision) throw new RlError('wrong last sequence', { code: 'bus.failed' })
      values.set(key, { value, revision: revision + 1 })
    },
    queued: () => new Map([...queues].map(([name, { held }]) => [name, held.size])),
    queueNames: () => [...queues.keys()],
    nudge: pumpAll,
    forget: dropQueue,
    wipe() {
      for (const name of [...queues.keys()]) dropQueue(name)
      // A cluster of brokers keeps records for as long as most of them live.
      stores.clear()
    },
  }
}

/** `*` stands for one word of a subject. */
function matches(pattern: string, subject: string): boolean {
  if (pattern === subject) return true
  if (!pattern.includes('*')) return false
  const wanted = pattern.split('.')
  const words = subject.split('.')
  return (
    wanted.length === words.length && wanted.every((word, index) => word === '*' || word === words[index])
  )
}
