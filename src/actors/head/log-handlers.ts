/** Guards around the handlers of the log service: who may ask, while the run is held, and what cannot be read. */
import { RlError } from '../../errors.ts'
import { isUser, type User } from '../../events/users.ts'
import type { DeadLetters } from './dead-letters.ts'

type Handler = (body: Uint8Array, subject: string) => Uint8Array

/**
 * Returns the user whose subject this is: the broker lets nobody else publish there.
 *
 * @param headSubject subject of the head itself
 * @throws RlError `bus.bad-request` if it is nobody's
 */
export function authorOf(subject: string, headSubject: string): User {
  if (subject === headSubject) return 'head'
  const user = subject.slice(subject.lastIndexOf('.') + 1)
  if (isUser(user)) return user
  throw new RlError(`there is no user ${JSON.stringify(user)}`, { code: 'bus.bad-request' })
}

/**
 * Answers only while the run is this head's.
 *
 * @param refusal returns why this head may not speak for the run now, or null
 */
export function whileHeld(refusal: () => RlError | null, handler: Handler): Handler {
  return function serveWhileHeld(body, subject) {
    const reason = refusal()
    if (reason) throw reason
    return handler(body, subject)
  }
}

/** Keeps what a handler cannot read. */
export function deadLettering(deadLetters: Pick<DeadLetters, 'add'>) {
  return <Answer>(handler: (body: Uint8Array, subject: string) => Answer) =>
    function serveOrDeadLetter(body: Uint8Array, subject: string): Answer {
      try {
        return handler(body, subject)
      } catch (error) {
        if (
          error instanceof RlError &&
          (error.code === 'event.malformed' || error.code === 'bus.bad-request')
        )
          deadLetters.add(subject, body, error)
        throw error
      }
    }
}
