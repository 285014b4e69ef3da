/** Both ends of `call.policy.server`: the address at which a local policy answers agents, and its token. */
import { z } from 'zod'
import { RlError } from '../../errors.ts'
import type { Serve } from '../../events/bus.ts'
import type { LogClient } from '../../events/log-client.ts'
import { parseRequest } from '../../events/log-protocol.ts'
import { pack } from '../../events/msgpack.ts'
import { subjectsOf } from '../../events/subjects.ts'

export const SERVER_SERVICE = 'policy.server'

const policyServer = z.strictObject({
  /** Base URL for OpenAI clients. */
  url: z.string().max(2_048),
  token: z.string().max(256),
})

export type PolicyServer = z.output<typeof policyServer>

const AGAIN_MS = 200

/** Name of a policy's version at its server, e.g. `policy-3`. */
export const nameOfVersion = (version: number): string => `policy-${version}`

export function versionOfName(name: string): number | null {
  const [, version] = /^policy-(\d{1,9})$/.exec(name) ?? []
  return version === undefined ? null : Number(version)
}

export function serveAddress(address: PolicyServer): Serve {
  const body = pack(address)
  return async () => body
}

/**
 * Asks for the address at which the policy answers agents. Waits while there is no policy.
 * @throws RlError `bus.no-responder` after `timeoutMs`, and those of the bus
 */
export async function policyServerOf(
  { bus, run }: Pick<LogClient, 'bus' | 'run'>,
  timeoutMs: number,
  signal?: AbortSignal,
): Promise<PolicyServer> {
  const until = performance.now() + timeoutMs
  const subject = subjectsOf(run).call(SERVER_SERVICE)
  for (;;) {
    try {
      const answer = await bus.request(subject, pack({}), { timeoutMs: 5_000 })
      return parseRequest(policyServer, answer, { bytes: 4_096, values: 16 })
    } catch (error) {
      const later = error instanceof RlError && error.code === 'bus.no-responder'
      if (!later || signal?.aborted || performance.now() > until) throw error
      await new Promise((resolve) => setTimeout(resolve, AGAIN_MS))
    }
  }
}
