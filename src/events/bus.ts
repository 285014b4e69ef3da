/** The transport as actors see it: subjects, bytes and deadlines. `nats/` speaks it over NATS; a simulation may in its place. */
import type { KeyedStore, KeyedStoreOptions } from './keyed-store.ts'
import type { User } from './users.ts'

export type BusAddress = {
  /** `nats://host:port`, also with `token@` or `user:password@`; `tls://` where the server must prove who it is. */
  readonly url: string
  readonly token?: string
  readonly user?: string
  readonly password?: string
  /** File with the certificate (PEM) that the server's is signed by; that of a public authority where absent. */
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
  /** 1 for the first time that this work was handed to anybody. */
  readonly attempt: number
}

/** What became of a delivery: it is done for good, or it comes again (to anybody) after a while. */
export type WorkResult = ({ readonly done: true } | { readonly done: false; readonly againMs: number }) & {
  /** The slot takes no other work until this settles: what was given back, or up, is still running here. */
  readonly busy?: Promise<unknown>
}

export type WorkQueue = {
  /** Stream and consumer name: letters, digits and dashes. */
  readonly name: string
  readonly subject: string
}

export type QueueOptions = WorkQueue & {
  /** After so much silence of a worker its delivery goes to another; a live worker renews it three times as often. */
  readonly ackWaitMs: number
}

export type WorkOptions = QueueOptions & {
  /** Deliveries in the hands of this process at a time. */
  readonly concurrency: number
}

export type Bus = {
  readonly url: string
  /** Which of a run's users this connection is; null where the broker knows no users of ours. */
  readonly user: User | null
  /** Most bytes of one message. */
  readonly maxPayload: () => number
  readonly connected: () => boolean
  readonly publish: (subject: string, body: Uint8Array, headers?: Headers) => void
  /** Resolves when the server has everything that was published before. Errors: `bus.disconnected`. */
  readonly flush: () => Promise<void>
  /**
   * Asks and waits; `hear` sees the answer's headers and may refuse it by throwing. Errors: `bus.timeout`, `bus.no-responder`,
   * `bus.disconnected`, or what the other side answered.
   */
  readonly request: (
    subject: string,
    body: Uint8Array,
    options: { timeoutMs: number; hear?: (header: BusMessage['header']) => void },
  ) => Promise<Uint8Array>
  /** Calls back for each message, in order; one that it throws at is a fault, and the next comes all the same. Returns the end of it. */
  readonly subscribe: (subject: string, handler: (message: BusMessage) => void) => () => void
  /** Answers requests; with a queue name each request goes to one of its members. An error becomes the answer. All answers bear the headers. */
  readonly serve: (subject: string, queue: string | null, handler: Serve, headers?: Headers) => () => void
  /** Hears of messages that a subscriber of this connection, or a taker of work, could not take. */
  readonly onFault: (callback: (fault: Fault) => void) => () => void
  /** Tells the listeners of a message that could not be taken. */
  readonly fault: (fault: Fault) => void
  /** Makes a work queue, or what is missing of it, and checks that the server understood all of it. */
  readonly ensureWorkQueue: (queue: QueueOptions) => Promise<void>
  /**
   * Publishes and waits until the work queue on this subject has it; the same id within an hour counts once. Returns its
   * number in the queue, that of the first where the id was there.
   */
  readonly publishWork: (subject: string, body: Uint8Array, id: string, headers?: Headers) => Promise<number>
  /** The message with this number, or null where the queue no longer has one. */
  readonly queued: (queue: WorkQueue, sequence: number) => Promise<BusMessage | null>
  /** A keyed store, which `ensure` makes. */
  readonly store: (options: KeyedStoreOptions) => KeyedStore
  /** Takes work until it is ended; ending waits for what is in hand. */
  readonly work: (
    options: WorkOptions,
    handler: (delivery: Delivery) => Promise<WorkResult>,
  ) => () => Promise<void>
  /** Calls back after each lost and regained connection. */
  readonly onReconnect: (callback: () => void) => () => void
  /** Resolves when the connection is over for good, with the reason or null. */
  readonly closed: Promise<Error | null>
  readonly close: () => Promise<void>
}
