/** The log as an actor sees it: append, read and blobs over the bus. Requests are retried until the head has answered. */

import { pause } from '../clock.ts'
import { explain, RlError } from '../errors.ts'
import { partsWithin } from '../parts-within.ts'
import { type Platform, systemPlatform } from '../platform/platform.ts'
import { openBlobTransfer, tooLarge } from './blob-transfer.ts'
import type { Bus, BusMessage } from './bus.ts'
import { CATALOGUE, type LoggedEvent, type NewEvent } from './catalogue.ts'
import { type BlobRef, DATA_LIMIT, decodeLoggedAsync, encodeEnvelope, INLINE_DATA_LIMIT } from './codec.ts'
import { readHeadSays } from './head-says.ts'
import type { Appended } from './log.ts'
import {
  type AppendedReply,
  type AppendReply,
  GROUPS_A_REQUEST,
  type HasReply,
  type HeadReply,
  KEYS_A_REQUEST,
  type ReadReply,
  type ReadRequest,
  type WireError,
} from './log-protocol.ts'
import { pack, unpackUntrusted } from './msgpack.ts'
import { EPOCH_HEADER, subjectsOf } from './subjects.ts'
import { traceparentOf } from './trace.ts'
import { authorOf } from './users.ts'

type AppendContext = {
  /** Id of the event that led to these. */
  readonly cause?: string | null
  /** Ids of the events. Default: new ids. */
  readonly ids?: readonly string[]
}

export type LogClient = {
  readonly bus: Bus
  readonly run: string
  /** True if roles of the run may lie on other disks. They get files through the log. */
  readonly apart: boolean
  /**
   * Resolves to the positions once the events are durable. Up to about 1 MB are appended all or nothing. More events go in
   * several appends, in order, up to the first that is refused. Errors: the head's refusal, `log.client-closed`.
   */
  readonly append: (events: readonly NewEvent[], context?: AppendContext) => Promise<readonly Appended[]>
  readonly read: (request: ReadRequest) => Promise<ReadReply>
  readonly decode: (position: number, body: Uint8Array) => Promise<LoggedEvent>
  /** Returns the position of the event with each natural key, or null. */
  readonly positionsOf: (keys: readonly string[]) => Promise<HasReply>
  readonly head: () => Promise<HeadReply>
  readonly putBlob: (bytes: Uint8Array) => Promise<BlobRef>
  readonly getBlob: (ref: BlobRef) => Promise<Uint8Array>
  /** Newest epoch of all answers. 0 before the first answer. */
  readonly epoch: () => number
  /** Number of appends without an answer yet. */
  readonly pending: () => number
  /** Ends retries: open requests fail. */
  readonly close: () => void
}

export type LogClientOptions = {
  readonly bus: Bus
  readonly run: string
  /** Author in the envelopes: a role, or `role/worker`. If the broker knows no users, it also decides the subject. */
  readonly actor: string
  /** Whether roles of the run may lie on other disks. Default: false. */
  readonly apart?: boolean
  readonly requestTimeoutMs?: number
  readonly platform?: Platform
}

type Group = {
  readonly bodies: readonly Uint8Array[]
  readonly bytes: number
  readonly resolve: (appended: readonly Appended[]) => void
  readonly reject: (error: unknown) => void
}

/** After these codes the same request is sent again. It is idempotent, and the head or the broker will be back. */
const TRANSIENT = new Set([
  'bus.timeout',
  'bus.no-responder',
  'bus.disconnected',
  'bus.failed',
  'bus.bad-reply',
  'bus.busy',
  'blob.busy',
  'log.disk-full',
  'log.closing',
  'log.not-held',
])

const REQUESTS_IN_FLIGHT = 8

/**
 * Opens a client of a run's log. Requests are repeated until the head answers or the client is closed. The bus stays open.
 * @example
 * const log = connectLog({ bus: await connectBus({ url }), run, actor: 'tool' })
 * const { position } = await log.head()
 */
export function connectLog(options: LogClientOptions): LogClient {
  const { bus, run, actor, apart = false, requestTimeoutMs = 5_000, platform = systemPlatform } = options
  const { clock } = platform
  const subjects = subjectsOf(run)
  const author = authorOf(bus.user, actor)
  const subject = subjects.append(author)
  const queue: Group[] = []
  let inFlight = 0
  let pending = 0
  let scheduled = false
  let closed = false
  let epoch = 0

  /** Ignores an answer of a head that has lost the run: the request is sent again. */
  function hear(header: (name: string) => string | undefined): void {
    const told = Number(header(EPOCH_HEADER) ?? 0) || 0
    if (told < epoch)
      throw new RlError(`an answer of epoch ${told} came after one of ${epoch}`, { code: 'log.not-held' })
    epoch = told
  }

  /** Requests that a head before this epoch may have had are asked again. */
  let announced = 0
  const again = new Set<() => void>()
  let endAnnouncements: (() => void) | null = null

  function hearHead({ body }: BusMessage): void {
    const { epoch: told = 0 } = readHeadSays(body)
    if (told <= announced) return
    const isNew = announced > 0
    announced = told
    if (isNew) for (const askAgain of [...again]) askAgain()
  }

  /** Sends a request. Fails early if another head takes the run meanwhile: the one that had the request may be gone. */
  async function requestOnce(subject: string, body: Uint8Array): Promise<Uint8Array> {
    endAnnouncements ??= bus.subscribe(subjects.tap('head'), hearHead)
    let askAgain = () => {}
    const early = new Promise<never>((_, reject) => {
      askAgain = () =>
        reject(new RlError(`another head has run '${run}' since it was asked`, { code: 'log.not-held' }))
      again.add(askAgain)
    })
    try {
      return await Promise.race([bus.request(subject, body, { timeoutMs: requestTimeoutMs, hear }), early])
    } finally {
      again.delete(askAgain)
    }
  }

  async function ask<Reply>(subject: string, request: unknown): Promise<Reply> {
    const body = pack(request)
    for (let attempt = 0; ; attempt++) {
      if (closed) throw clientClosed()
      try {
        return readReply<Reply>(subject, await requestOnce(subject, body))
      } catch (error) {
        if (!isTransient(error)) throw error
        await pause(Math.min(500, 25 * 2 ** attempt), undefined, clock)
      }
    }
  }

  const { putBlob, getBlob } = openBlobTransfer(ask, {
    put: subjects.put(author),
    get: subjects.blob('get'),
  })

  function schedule(): void {
    if (scheduled) return
    scheduled = true
    clock.soon(() => {
      scheduled = false
      while (queue.length > 0 && inFlight < REQUESTS_IN_FLIGHT) void send(takeGroups(queue, messageLimit()))
    })
  }

  /** Most bytes of events in one request. */
  function messageLimit(): number {
    return Math.min(bus.maxPayload(), 1_048_576) - 4096
  }

  function enqueue(bodies: readonly Uint8Array[]): Promise<readonly Appended[]> {
    return new Promise((resolve, reject) => {
      queue.push({ bodies, bytes: sizeOf(bodies), resolve, reject })
      schedule()
    })
  }

  async function send(groups: readonly Group[]): Promise<void> {
    inFlight++
    try {
      const replies = await ask<AppendReply>(
        subject,
        groups.map((group) => group.bodies),
      )
      const refused = settle(groups, replies)
      if (refused.length > 0) {
        await pause(250, undefined, clock)
        queue.unshift(...refused)
      }
    } catch (error) {
      for (const group of groups) group.reject(error)
    } finally {
      inFlight--
      if (queue.length > 0) schedule()
    }
  }

  /** Returns the event's bytes. Large data are sent as a blob first. */
  function encode(
    event: NewEvent,
    id: string,
    { cause = null }: AppendContext,
  ): Uint8Array | Promise<Uint8Array> {
    const { type, data } = event
    const envelope = {
      id,
      type,
      v: CATALOGUE[type].v,
      run,
      actor,
      time: clock.now(),
      cause,
      trace: traceparentOf(run, id, event),
    }
    const body = encodeEnvelope({ ...envelope, data })
    if (body.byteLength <= INLINE_DATA_LIMIT) return body
    const bytes = pack(data)
    if (bytes.byteLength > DATA_LIMIT) throw tooLarge(bytes.byteLength, DATA_LIMIT)
    return putBlob(bytes).then(($blob) => encodeEnvelope({ ...envelope, data: { $blob } }))
  }

  return {
    bus,
    run,
    apart,
    async append(events, context = {}) {
      if (closed) throw clientClosed()
      pending++
      try {
        const bodies: Uint8Array[] = []
        for (const [index, event] of events.entries()) {
          const body = encode(event, context.ids?.[index] ?? platform.newId(), context)
          bodies.push(body instanceof Uint8Array ? body : await body)
        }
        const appended: Appended[] = []
        for (const group of partsWithin(bodies, bytesOf, messageLimit()))
          appended.push(...(await enqueue(group)))
        return appended
      } finally {
        pending--
      }
    },
    read: (request) => ask<ReadReply>(subjects.log('read'), request),
    decode: (position, body) => decodeLoggedAsync(body, position, getBlob),
    async positionsOf(keys) {
      const positions: (number | null)[] = []
      for (let at = 0; at < keys.length; at += KEYS_A_REQUEST) {
        const part = keys.slice(at, at + KEYS_A_REQUEST)
        positions.push(...(await ask<HasReply>(subjects.log('has'), { keys: part })))
      }
      return positions
    },
    head: () => ask<HeadReply>(subjects.log('head'), {}),
    putBlob,
    getBlob,
    epoch: () => epoch,
    pending: () => pending,
    close() {
      closed = true
      endAnnouncements?.()
      for (const group of queue.splice(0)) group.reject(clientClosed())
    },
  }
}

function readReply<Reply>(subject: string, body: Uint8Array): Reply {
  try {
    return unpackUntrusted(body) as Reply
  } catch (cause) {
    throw new RlError(`the answer of ${subject} cannot be read`, { code: 'bus.bad-reply', cause })
  }
}

function sizeOf(bodies: readonly Uint8Array[]): number {
  return bodies.reduce((total, body) => total + bytesOf(body), 0)
}

/** Takes the groups of the next request off the queue: at least one, and together at most this many bytes. */
function takeGroups(queue: Group[], most: number): Group[] {
  let bytes = 0
  let count = 0
  for (const group of queue.slice(0, GROUPS_A_REQUEST)) {
    bytes += group.bytes
    if (count > 0 && bytes > most) break
    count++
  }
  return queue.splice(0, count)
}

/** Settles groups by their replies. Returns the groups that are to be sent again. */
function settle(groups: readonly Group[], replies: AppendReply): Group[] {
  const refused: Group[] = []
  groups.forEach((group, index) => {
    const reply = replies[index]
    if (Array.isArray(reply)) group.resolve(reply.map(toAppended))
    else if (TRANSIENT.has((reply as WireError).code)) refused.push(group)
    else group.reject(toError(reply as WireError))
  })
  return refused
}

function toAppended([position, duplicate, other]: AppendedReply): Appended {
  return { position, duplicate: duplicate === 1, ...(other === 1 ? { other: true } : {}) }
}

/** Bytes of a body in a message, with its length. */
const bytesOf = (body: Uint8Array) => body.byteLength + 8

/** Returns whether an error of a request will pass by itself: the broker or the head is away, or the disk is full. */
export function isTransient(error: unknown): boolean {
  return error instanceof RlError && TRANSIENT.has(error.code)
}

function toError({ code, message, hint }: WireError): RlError {
  return new RlError(message, { code, hint })
}

export function toWireError(error: unknown): WireError {
  if (error instanceof RlError) return { code: error.code, message: error.message, hint: error.hint }
  return { code: 'log.failed', message: explain(error) }
}

function clientClosed(): RlError {
  return new RlError('the log client was closed', { code: 'log.client-closed' })
}
