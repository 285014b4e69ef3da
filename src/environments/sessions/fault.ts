/** Faults of what is elsewhere: of the infrastructure, which is tried again, or of the environment. */
import { explain, RlError } from '../../errors.ts'

/** A fault of the infrastructure: a connection that broke, a process that ended, no answer in time. */
export const infra = (message: string, cause?: unknown, hint?: string): RlError =>
  new RlError(message, { code: 'rollout.infra', cause, hint })

/** A fault of the environment: an answer that is none. */
export const broken = (message: string, hint?: string): RlError =>
  new RlError(message, { code: 'environment.answer', hint })

/** Returns the words of an error of a connection. Node tells in its cause alone that nobody listens at an address. */
export function connectionWords(error: unknown): string {
  const cause = error instanceof Error ? error.cause : undefined
  return cause instanceof Error && cause.message !== ''
    ? `${explain(error)}: ${cause.message}`
    : explain(error)
}

/** Whether a server says by its status that it wants a key, or another one. */
export const isKeyRefused = (status: unknown): boolean => status === 401 || status === 403
