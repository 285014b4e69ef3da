/** The backend that a model of this machine will have, found in a thread of its own: the caller loads no tensors. */
import { once } from 'node:events'
import { RlError } from '../../../errors.ts'
import { startThread } from '../../../package.ts'
import type { BackendChoice } from './backend.ts'

export type ProbeReply =
  | { readonly description: string }
  | { readonly error: string; readonly hint: string | undefined }

/** One line: what is used, and why nothing better is. @throws RlError where a named backend cannot be used */
export async function probeBackend(choice: BackendChoice): Promise<string> {
  const thread = startThread(new URL('./probe-thread.ts', import.meta.url), choice)
  try {
    const [reply] = (await once(thread, 'message')) as [ProbeReply]
    if ('description' in reply) return reply.description
    throw new RlError(reply.error, { code: 'backend.missing', hint: reply.hint })
  } finally {
    await thread.terminate()
  }
}
