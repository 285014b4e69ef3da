/**
 * Debts of a connection: requests without an answer yet, and answers that the broker does not have yet. An asker that
 * does not read costs memory here. So each asker may hold a bounded part. A request beyond it gets `bus.busy`, and is
 * asked again later.
 */
import { RlError } from '../../errors.ts'
import { isUser } from '../users.ts'

export type Answers = {
  /**
   * Takes a request whose answer goes to `reply`. Returns null if that client has too many in progress. Else returns a function to call
   * once with the number of bytes of the answer.
   */
  readonly take: (reply: string, bytes: number) => ((bytes: number) => void) | null
  /** Returns whether even a short answer is too much. Then no answer is sent. */
  readonly isMute: () => boolean
}

/** Bytes of requests in progress, and of answers on their way to the broker. */
type Held = { asked: number; unsent: number }

/** Limit of one client. All clients together have twice as much. */
const ASKED = 32 * 1024 * 1024
const UNSENT = 4 * 1024 * 1024
/** After this many bytes of answers the broker is asked whether it has them. */
const FLUSHED = 1024 * 1024
/** Bytes that a message takes beside its payload. */
const MESSAGE = 512

/** @param flush resolves when the broker has everything that was sent before, or when the connection is lost */
export function openAnswers(flush: () => Promise<void>): Answers {
  const askers = new Map<string, Held>()
  const all: Held = { asked: 0, unsent: 0 }
  let flushing = false

  function heldBy(asker: string): Held {
    let held = askers.get(asker)
    if (!held) {
      held = { asked: 0, unsent: 0 }
      askers.set(asker, held)
    }
    return held
  }

  async function send(): Promise<void> {
    if (flushing || all.unsent < FLUSHED) return
    flushing = true
    const sent = [all, ...askers.values()].map((held) => ({ held, bytes: held.unsent }))
    await flush().catch(() => {})
    for (const { held, bytes } of sent) held.unsent -= bytes
    flushing = false
    void send()
  }

  return {
    take(reply, body) {
      const held = heldBy(askerOf(reply))
      const bytes = body + MESSAGE
      if (held.unsent >= UNSENT || all.unsent >= 2 * UNSENT) return null
      if (held.asked + bytes > ASKED || all.asked + bytes > 2 * ASKED) return null
      for (const one of [held, all]) one.asked += bytes
      return function answered(answer) {
        for (const one of [held, all]) {
          one.asked -= bytes
          one.unsent += answer + MESSAGE
        }
        void send()
      }
    },
    isMute() {
      all.unsent += MESSAGE
      void send()
      return all.unsent >= 4 * UNSENT
    },
  }
}

export function busy(subject: string): RlError {
  return new RlError(`too many requests wait for an answer: ${subject} accepts no more now`, {
    code: 'bus.busy',
    hint: 'read the answers, and ask again a little later',
  })
}

/** Returns the user of an inbox. A client does not prove that the inbox is its own, so all of them together have a limit too. */
function askerOf(reply: string): string {
  const [first = '', second = ''] = reply.split('.', 2)
  const user = first === '_CALL' ? second : first.slice('_INBOX_'.length)
  return isUser(user) ? user : 'tool'
}
