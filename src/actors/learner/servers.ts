/** Work at all servers of a model at once. */
import { explain } from '../../errors.ts'
import type { EventData } from '../../events/catalogue.ts'
import type { AdapterServer } from '../../models/openai/adapters.ts'
import { redact } from '../runtime/redact.ts'

type Replica = EventData<'PolicyPublished'>['replicas'][number]

/** Works at all servers, each within the time. Resolves to the state of each server, and never rejects. */
export type AtAll = (
  withinSeconds: number,
  work: (server: AdapterServer, signal: AbortSignal) => Promise<void>,
) => Promise<Replica[]>

/**
 * @param key secret that no error may tell
 * @param stopping ends the work at all servers
 */
export function serversOf(
  servers: readonly AdapterServer[],
  key: string | null,
  stopping: AbortSignal,
): AtAll {
  return function atAll(withinSeconds, work) {
    return Promise.all(
      servers.map(async (server): Promise<Replica> => {
        const late = AbortSignal.timeout(withinSeconds * 1000)
        const url = redact(server.baseUrl)
        try {
          await work(server, AbortSignal.any([late, stopping]))
          return { url, state: 'done', error: null }
        } catch (error) {
          if (late.aborted) return { url, state: 'timed-out', error: `no answer within ${withinSeconds} s` }
          return { url, state: 'refused', error: redact(explain(error), key === null ? [] : [key]) }
        }
      }),
    )
  }
}
