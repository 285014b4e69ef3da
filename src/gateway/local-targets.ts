/** Targets of a local policy: its process serves every version. A process that is started again has another address. */
import type { Targets } from '../actors/learner/targets.ts'
import { nameOfVersion, policyServerOf } from '../actors/rollout/server-service.ts'
import type { LogClient } from '../events/log-client.ts'
import { ApiError } from '../openai-api/errors.ts'
import type { Upstream } from './upstream.ts'

/** Time in which a policy must tell its address. A large model is loaded before. */
const TELL_MS = 1_800_000
const AGAIN_MS = 200

export type LocalTargets = Targets & {
  /** Returns the token of the server. */
  readonly key: () => string
  /** Makes calls wait for a policy that is started again: such an end is no fault of the agent's rollout. */
  readonly patient: (upstream: Upstream) => Upstream
}

/** @throws RlError `bus.no-responder` if no policy tells its address in time */
export async function localTargets(log: LogClient): Promise<LocalTargets> {
  let server = await policyServerOf(log, TELL_MS)
  let asking: Promise<void> | null = null

  function askAgain(): Promise<void> {
    asking ??= policyServerOf(log, TELL_MS)
      .then((found) => {
        server = found
      })
      // The next start of the policy asks again.
      .catch(() => {})
      .finally(() => {
        asking = null
      })
    return asking
  }

  return {
    key: () => server.token,
    targetOf: (version) => ({ baseUrl: server.url, model: nameOfVersion(version) }),
    leaveOut() {},
    hasOther: () => false,
    see(event) {
      if (event.type === 'ActorStarted' && event.data.role === 'policy') void askAgain()
    },
    settled: async () => {
      await asking
    },
    patient: ({ post, close }) => ({
      close,
      async post(target, path, body, signal) {
        for (;;) {
          try {
            return await post({ ...target, baseUrl: server.url }, path, body, signal)
          } catch (error) {
            if (!(error instanceof ApiError) || error.body.error.code !== 'connection' || signal.aborted)
              throw error
            await Promise.race([askAgain(), new Promise((go) => signal.addEventListener('abort', go))])
            await new Promise((go) => setTimeout(go, AGAIN_MS))
          }
        }
      },
    }),
  }
}
