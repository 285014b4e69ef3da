/**
 * Finds the backend that a model on this machine will use. It runs in its own thread, so the caller loads no tensors.
 */
import { once } from 'node:events'
import { RlError } from '../../../errors.ts'
import { startThread } from '../../../package.ts'
import type { Compute } from '../model.ts'

export type ProbedBackend = {
  /** Backend in use: name, library and threads, or adapter. */
  readonly used: string
  /** The same in one line for people, with the reason why nothing better is used. */
  readonly description: string
}

export type ProbeReply = ProbedBackend | { readonly error: string; readonly hint: string | undefined }

/**
 * Finds the backend.
 * @throws RlError if a named backend cannot be used
 */
export async function probeBackend(compute: Compute): Promise<ProbedBackend> {
  const thread = startThread(new URL('./probe-thread.ts', import.meta.url), compute)
  try {
    const [reply] = (await once(thread, 'message')) as [ProbeReply]
    if ('description' in reply) return reply
    throw new RlError(reply.error, { code: 'backend.missing', hint: reply.hint })
  } finally {
    await thread.terminate()
  }
}
