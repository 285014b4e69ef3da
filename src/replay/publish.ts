/** Sends an old run's events again under another run id. So a tool can be tried on them as on a live run. */
import { pause } from '../clock.ts'
import type { Bus } from '../events/bus.ts'
import { encodeEnvelope } from '../events/codec.ts'
import type { Envelope } from '../events/envelope.ts'
import { unpackFast } from '../events/fast-unpack.ts'
import {
  BLOB_CHUNK,
  type BlobGetReply,
  blobGetRequest,
  parseRequest,
  REQUEST_BOUNDS,
  type ReadReply,
  readRequest,
} from '../events/log-protocol.ts'
import type { LogReader } from '../events/log-reader.ts'
import type { RawEvent } from '../events/log-rows.ts'
import { pack } from '../events/msgpack.ts'
import { POSITION_HEADER, subjectsOf } from '../events/subjects.ts'

export type PublishOptions = {
  /** Run id under which the events appear. */
  readonly run: string
  /** Speed as a multiple of the original. Infinity: as fast as possible. */
  readonly speed: number
  readonly until?: number
  /** Answers readers of the log until the signal, also when all is sent. */
  readonly stay?: boolean
  readonly signal?: AbortSignal
}

const READ_BYTES = 700 * 1024
const PAGE = 500
/** Longest silence: nobody wants to wait for a night between two events. */
const LONGEST_WAIT_MS = 10_000

/**
 * Sends one event after the other, and serves reads up to the last sent one, with the blobs. Resolves to the
 * number of sent events.
 */
export async function publishAgain(log: LogReader, bus: Bus, options: PublishOptions): Promise<number> {
  const { run, speed, until = Infinity, signal } = options
  const subjects = subjectsOf(run)
  let sent = 0

  function serveRead(body: Uint8Array): Uint8Array {
    const request = parseRequest(readRequest, body, REQUEST_BOUNDS.read)
    const page = log.page({ ...request, until: Math.min(request.until ?? sent, sent), maxBytes: READ_BYTES })
    const reply: ReadReply = {
      events: page.events.map((raw) => [raw.position, renamed(raw, run).body] as const),
      next: page.next,
      hash: '',
      head: sent,
    }
    return pack(reply)
  }

  function serveBlob(body: Uint8Array): Uint8Array {
    const { offset, ...ref } = parseRequest(blobGetRequest, body, REQUEST_BOUNDS.get)
    const reply: BlobGetReply = { chunk: log.blobs.chunk(ref, offset, BLOB_CHUNK) }
    return pack(reply)
  }

  const leave = [
    bus.serve(subjects.log('read'), null, serveRead),
    bus.serve(subjects.blob('get'), null, serveBlob),
  ]
  try {
    let before: number | null = null
    for (let next = 1; next <= until && !signal?.aborted; ) {
      const page = log.page({ from: next, until, limit: PAGE })
      if (page.events.length === 0) break
      for (const raw of page.events) {
        const { body, envelope } = renamed(raw, run)
        const waitMs = before !== null && speed < Infinity ? (envelope.time - before) / speed : 0
        if (waitMs >= 1) await pause(Math.min(waitMs, LONGEST_WAIT_MS), signal)
        if (signal?.aborted) break
        before = envelope.time
        sent = raw.position
        bus.publish(subjects.evt(envelope.type), body, { [POSITION_HEADER]: String(raw.position) })
      }
      await bus.flush()
      bus.publish(subjects.tap('head'), pack({ position: sent, time: Date.now() }))
      next = page.next
    }
    await bus.flush()
    if (options.stay) await aborted(signal)
    return sent
  } finally {
    for (const stop of leave) stop()
  }
}

function renamed(
  { body }: RawEvent,
  run: string,
): { readonly body: Uint8Array; readonly envelope: Envelope } {
  const envelope = { ...(unpackFast(body) as Envelope), run }
  return { body: encodeEnvelope(envelope), envelope }
}

function aborted(signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) resolve()
    signal?.addEventListener('abort', () => resolve())
  })
}
