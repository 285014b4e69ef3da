/** How a server is spoken to. Both ways bound what it may send before anything reads it. */
import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/client'

/** Longest message that is read, in bytes. */
export const MOST_BYTES = 8 * 1024 * 1024
/** Most that a server may send after one question: in bytes, and in messages. */
const MOST_AFTER = { bytes: 2 * MOST_BYTES, messages: 10_000 }

export type ServerTransport = {
  readonly transport: Transport
  /** Why the connection is of no use any more, or null. */
  readonly fault: () => Error | null
  /** Ends the session and all that it started. Never rejects. */
  readonly end: () => Promise<void>
}

/** Counts what comes after a question of ours. */
export type Meter = {
  /** A message of ours is sent. Our answers to a server's own questions count for nothing: it asks them as fast as it likes. */
  readonly sent: (message: JSONRPCMessage) => void
  /** Returns whether it is too much. */
  readonly isFlood: (bytes: number, messages: number) => boolean
}

export function createMeter(): Meter {
  let bytes = 0
  let messages = 0
  return {
    sent(message) {
      if (!isQuestion(message)) return
      bytes = 0
      messages = 0
    },
    isFlood(more, count) {
      bytes += more
      messages += count
      return bytes > MOST_AFTER.bytes || messages > MOST_AFTER.messages
    },
  }
}

/** Whether a message waits for an answer. */
export const isQuestion = (message: JSONRPCMessage): boolean => 'method' in message && 'id' in message
