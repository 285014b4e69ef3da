/** Answers requests to a log: pages of events, positions by natural key, and the head. */
import {
  type HasReply,
  type HeadReply,
  hasRequest,
  parseRequest,
  REQUEST_BOUNDS,
  type ReadReply,
  readRequest,
} from '../../events/log-protocol.ts'
import type { LogReader } from '../../events/log-reader.ts'
import { pack } from '../../events/msgpack.ts'
import type { DiskPause } from './disk-pause.ts'
import type { RollbackCheck } from './rollback.ts'

/** Encoded requests and replies. Errors: `bus.bad-request`, and `log.rolled-back` of `read`. */
export type LogAnswers = {
  readonly read: (body: Uint8Array) => Uint8Array
  readonly has: (body: Uint8Array) => Uint8Array
  readonly head: () => Uint8Array
}

const READ_BYTES = 700 * 1024

/** @param visible returns the last position that anybody may hear of */
export function logAnswers(
  log: LogReader,
  visible: () => number,
  checkSeen: RollbackCheck['checkSeen'],
  pausedSince: DiskPause['since'],
): LogAnswers {
  function read(body: Uint8Array): Uint8Array {
    const {
      from,
      until,
      types,
      limit,
      seen,
      epoch: heard,
    } = parseRequest(readRequest, body, REQUEST_BOUNDS.read)
    checkSeen(from - 1, seen, heard)
    const last = visible()
    const page = log.page({
      from,
      until: until === undefined ? last : Math.min(until, last),
      types,
      limit,
      maxBytes: READ_BYTES,
    })
    const reply: ReadReply = {
      events: page.events.map(({ position, body }) => [position, body] as const),
      next: page.next,
      hash: log.hashAt(page.next - 1),
      head: last,
    }
    return pack(reply)
  }

  function has(body: Uint8Array): Uint8Array {
    const { keys } = parseRequest(hasRequest, body, REQUEST_BOUNDS.has)
    const last = visible()
    const reply: HasReply = keys.map((key) => {
      const position = log.positionOf('key', key)
      return position === null || position > last ? null : position
    })
    return pack(reply)
  }

  function head(): Uint8Array {
    const reply: HeadReply & { pausedSince: number | null } = {
      position: visible(),
      hash: log.hashAt(visible()),
      deadLetters: log.deadLetters(0).total,
      pausedSince: pausedSince(),
    }
    return pack(reply)
  }

  return { read, has, head }
}
