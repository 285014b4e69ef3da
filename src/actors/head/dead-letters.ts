/** Messages that could not be taken: kept for people to look at, counted, and never in the way of good ones. */
import type { Clock } from '../../clock.ts'
import type { EventLog, NewDeadLetter } from '../../events/log.ts'
import { toWireError } from '../../events/log-client.ts'

export type DeadLetters = {
  readonly add: (subject: string, body: Uint8Array, error: unknown) => void
  /** Writes what was added since the last turn of the event loop. */
  readonly write: () => void
}

/** The letters of one turn share a transaction, up to so many: their bodies wait in memory. */
const LETTERS_A_TURN = 256

export function openDeadLetters(log: EventLog, clock: Clock): DeadLetters {
  let letters: NewDeadLetter[] = []

  function write(): void {
    const batch = letters
    letters = []
    try {
      if (batch.length > 0) log.addDeadLetters(batch)
    } catch {
      // A full disk must not turn a bad message into a crash: the sender has its error in any case.
    }
  }

  return {
    add(subject, body, error) {
      const { code, message } = toWireError(error)
      if (letters.length === 0) clock.soon(write)
      letters.push({ subject, code, reason: message, body })
      if (letters.length === LETTERS_A_TURN) write()
    },
    write,
  }
}
