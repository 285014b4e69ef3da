/** The log of a run as workers see it, read from its file. It is for runs without a head. It takes no events. */
import { RlError } from '../errors.ts'
import { sha256Of } from './blobs.ts'
import type { Bus } from './bus.ts'
import { decodeLogged } from './codec.ts'
import type { LogClient } from './log-client.ts'
import type { LogReader } from './log-reader.ts'

/**
 * Answers as a head answers readers. Everything else is the error `log.read-only`. Blobs that are put stay in memory only.
 * The caller closes the reader.
 */
export function offlineLog(log: LogReader): LogClient {
  const refuse = async () => {
    throw readOnly(log.run)
  }
  const own = new Map<string, Uint8Array>()
  return {
    get bus(): Bus {
      throw readOnly(log.run)
    },
    run: log.run,
    apart: false,
    append: refuse,
    async putBlob(bytes) {
      const ref = { sha256: sha256Of(bytes), bytes: bytes.byteLength }
      own.set(ref.sha256, bytes)
      return ref
    },
    async read({ from, until, types, limit }) {
      const { events, next } = log.page({ from, until, types, limit })
      return {
        events: events.map(({ position, body }) => [position, body]),
        next,
        hash: log.hashAt(next - 1),
        head: log.head().position,
      }
    },
    decode: async (position, body) => decodeLogged(body, position, log.blobs.get),
    positionsOf: async (keys) => keys.map((key) => log.positionOf('key', key)),
    head: async () => ({ ...log.head(), deadLetters: log.deadLetters(0).total }),
    getBlob: async (ref) => own.get(ref.sha256) ?? log.blobs.get(ref),
    epoch: () => 0,
    pending: () => 0,
    close: () => {},
  }
}

function readOnly(run: string): RlError {
  return new RlError(`the log of run '${run}' is only read here`, { code: 'log.read-only' })
}
