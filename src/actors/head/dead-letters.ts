/** Messages that could not be taken: kept for people to look at, counted, and never in the way of good ones. */
import type { Clock } from '../../clock.ts'
import { DEAD_LETTER_BYTES, type EventLog, type NewDeadLetter } from '../../events/log.ts'
import { toWireError } from '../../events/log-client.ts'

export type DeadLetters = {
  readonly add: (subject: string, body: Uint8Array, error: unknown) => void
  /** Writes the added letters. */
  readonly write: () => void
}

/**
 * Time between writes. Letters share a transaction: each one takes the disk's time, and a flood of them may not take
 * all of it.
 */
const WRITE_MS = 250
/** Beyond these in a transaction, letters are only counted. */
const LETTERS_A_WRITE = 256
/** Bytes of bodies in a transaction. Of later bodies only the beginnings are kept. */
const BYTES_A_WRITE = 1024 * 1024
const BEGINNING = 256
const MOST_REASON = 2_000

export function openDeadLetters(log: EventLog, clock: Clock): DeadLetters {
  let letters: NewDeadLetter[] = []
  let more = 0
  let bytes = 0
  let endTimer: (() => void) | null = null

  function write(): void {
    endTimer?.()
    endTimer = null
    const batch = letters
    if (more > 0) batch.push(floodOf(more))
    letters = []
    more = 0
    bytes = 0
    try {
      if (batch.length > 0) log.addDeadLetters(batch)
    } catch {
      // A full disk must not turn a bad message into a crash: the sender has its error in any case.
    }
  }

  return {
    add(subject, body, error) {
      endTimer ??= clock.after(WRITE_MS, write)
      if (letters.length === LETTERS_A_WRITE) more++
      else {
        const { code, message } = toWireError(error)
        // A copy: the whole message would wait in memory.
        const kept = body.slice(0, bytes < BYTES_A_WRITE ? DEAD_LETTER_BYTES : BEGINNING)
        bytes += kept.byteLength
        letters.push({
          subject,
          code,
          reason: message.slice(0, MOST_REASON),
          bytes: body.byteLength,
          body: kept,
        })
      }
    },
    write,
  }
}

function floodOf(more: number): NewDeadLetter {
  const reason = `${more} more messages within ${WRITE_MS} ms could not be taken and were not kept`
  return { subject: '', code: 'dead-letters.flood', reason, bytes: 0, body: new Uint8Array(0) }
}
