/** The transport as actors see it: subjects, bytes and deadlines. `nats/` implements it over NATS; a simulation may replace it. */
import type { KeyedStore, KeyedStoreOptions } from './keyed-store.ts'
import type { RecordStream, RecordStreamOptions } from './record-stream.ts'
import type { User } from './users.ts'

export type BusAddress = {
  /**
   * `nats://host:port`, also with `token@` or `user:password@`, or a list of servers of one cluster with commas. With
   * `tls://` the server must prove its identity.
   */
  readonly url: string
  readonly token?: string
  readonly user?: string
  readonly password?: string
  /** Secret half (seed) of the user's key, in place of a password. It never leaves this process. */
  readonly nkey?: string
  /** The certificate (PEM), or its file, that signed the server's certificate. Default: public authorities. */
  readonly ca?: string
}

export type Headers = Readonly<Record<string, string>>

export type BusMessage = {
  readonly subject: string
  readonly body: Uint8Array
  readonly header: (name: string) => string | undefined
}

export type Serve = (body: Uint8Array, subject: string) => Promise<Uint8Array> | Uint8Array

/** A message that its handler could not take. */
export type Fault = { readonly subject: string; readonly body: Uint8Array; readonly error: unknown }

/** One piece of work from a queue. */
export type Delivery = BusMessage & {
  /** 1 if this work was not delivered to anybody before. */
  readonly attempt: number
}

/** Outcome of a delivery: it is done for good, or it comes again (to anybody) after a while. */
export type WorkResult = ({ readonly done: true } | { readonly done: false; readonly againMs: number }) & {
  /** The slot takes no other work until this settles: work that was given back is still running here. */
  readonly busy?: Promise<unknown>
}

export type WorkQueue = {
  /** Stream and consumer name: letters, digits and dashes. */
  readonly name: string
  readonly subject: string
}

export type QueueOptions = WorkQueue & {
  /** After this much silence of a worker its delivery goes to another one. A live worker renews it three times as often. */
  readonly ackWaitMs: number
}

/** Most pieces of work of a queue that are in hand at a time: the broker hands out no more. */
export const MOST_UNACKNOWLEDGED = 10_000

/** Work that nobody took, work in hand, and work in hand that was handed out before. */
export type QueueDepth = { readonly pending: number; readonly inHand: number; readonly again: number }

export type WorkOptions = QueueOptions & {
  /** Most deliveries in this process at a time. */
  readonly concurrency: number
}

export type Bus = {
  readonly url: string
  /** The run's user of this connection. Null if the broker does not know our users. */
  readonly user: User | null
  /** Most bytes of one message. */
  readonly maxPayload: () => number
  readonly connected: () => boolean
  readonly publish: (subject: string, body: Uint8Array, headers?: Headers) => void
  /** Resolves once the server has all messages that were published before. Errors: `bus.disconnected`. */
  readonly flush: () => Promise<void>
  /**
   * Sends a request and waits for its answer. `hear` gets the answer's headers and may throw to refuse it. Errors: `bus.timeout`,
   * `bus.no-responder`, `bus.disconnected`, or the error that the other side answered.
   */
  readonly request: (
    subject: string,
    body: Uint8Array,
    options: { timeoutMs: number; hear?: (header: BusMessage['header']) => void },
  ) => Promise<Uint8Array>
  /** Calls back for each message, in order. If the callback throws, that is a fault, and the next message still comes. Returns a function that unsubscribes. */
  readonly subscribe: (subject: string, handler: (message: BusMessage) => void) => () => void
  /** Answers requests. With a queue name each request goes to one member of the queue. An error becomes the answer. All answers have the headers. */
  readonly serve: (subject: string, queue: string | null, handler: Serve, headers?: Headers) => () => void
  /** Calls back for messages that a subscriber or a taker of work of this connection could not take. */
  readonly onFault: (callback: (fault: Fault) => void) => () => void
  /** Tells the listeners of a message that could not be taken. */
  readonly fault: (fault: Fault) => void
  /** Makes a work queue, or its missing parts. Checks that the server understood all options. */
  readonly ensureWorkQueue: (queue: QueueOptions) => Promise<void>
  /**
   * Publishes and waits until the work queue on this subject has the message. The same id within an hour counts once. Returns the
   * message's number in the queue. For a known id it is the number of the first message.
   */
  readonly publishWork: (subject: string, body: Uint8Array, id: string, headers?: Headers) => Promise<number>
  /** Returns the message with this number, or null if the queue no longer has it. */
  readonly queued: (queue: WorkQueue, sequence: number) => Promise<BusMessage | null>
  /** Returns how much work is in a queue. Errors: those of the server, which may know no such queue. */
  readonly queueDepth: (queue: WorkQueue) => Promise<QueueDepth>
  /** A keyed store, which `ensure` makes. */
  readonly store: (options: KeyedStoreOptions) => KeyedStore
  /** A stream of records, which `ensure` makes. */
  readonly records: (options: RecordStreamOptions) => RecordStream
  /** Takes work until it is ended. The end waits for work in hand. */
  readonly work: (
    options: WorkOptions,
    handler: (delivery: Delivery) => Promise<WorkResult>,
  ) => () => Promise<void>
  /** Calls back after each lost and regained connection. */
  readonly onReconnect: (callback: () => void) => () => void
  /** Resolves once the connection is over for good, with the reason or null. */
  readonly closed: Promise<Error | null>
  readonly close: () => Promise<void>
}
