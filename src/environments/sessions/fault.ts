/** Faults of what is elsewhere: of the infrastructure, which is tried again, or of the environment. */
import { RlError } from '../../errors.ts'

/** A fault of the infrastructure: a connection that broke, a process that ended, no answer in time. */
export const infra = (message: string, cause?: unknown): RlError =>
  new RlError(message, { code: 'rollout.infra', cause })

/** A fault of the environment: an answer that is none. */
export const broken = (message: string, hint?: string): RlError =>
  new RlError(message, { code: 'environment.answer', hint })
