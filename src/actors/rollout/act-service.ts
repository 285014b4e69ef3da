/** Both ends of `call.policy.act`: msgpack over the bus, cut into messages that fit. */
import { RlError } from '../../errors.ts'
import type { Serve } from '../../events/bus.ts'
import type { LogClient } from '../../events/log-client.ts'
import { pack, unpackUntrusted } from '../../events/msgpack.ts'
import { subjectsOf } from '../../events/subjects.ts'
import type { Act, ActReply, ActRequest } from './act.ts'

export const ACT_SERVICE = 'policy.act'

/**
 * Asks any policy worker of the run. Large batches go as several messages: a server's default limit is 1 MB. As long as there is
 * no worker (it is being started, or started again) the question waits: that is no fault of the rollouts.
 */
export function actOver({ bus, run }: LogClient, timeoutMs: number): Act {
  const subject = subjectsOf(run).call(ACT_SERVICE)

  async function ask(body: Uint8Array, signal: AbortSignal): Promise<Uint8Array> {
    const until = performance.now() + timeoutMs
    for (;;) {
      try {
        return await bus.request(subject, body, { timeoutMs })
      } catch (error) {
        const absent = error instanceof RlError && error.code === 'bus.no-responder'
        if (!absent || signal.aborted || performance.now() > until) throw error
        await new Promise((resolve) => setTimeout(resolve, AGAIN_MS))
      }
    }
  }

  return async function act(requests, signal) {
    const parts = split(requests, Math.min(bus.maxPayload(), 1_048_576) - 65_536)
    const replies = await Promise.all(
      parts.map(async (part) => unpackUntrusted(await ask(pack(part), signal)) as ActReply[]),
    )
    return replies.flat()
  }
}

const AGAIN_MS = 100

/** Asks a policy worker of this process. */
export function actIn(service: Serve): Act {
  return async function askHere(requests) {
    return unpackUntrusted(await service(pack(requests), ACT_SERVICE)) as ActReply[]
  }
}

export function serveAct(act: Act): Serve {
  return async function answerAct(body) {
    const requests = unpackUntrusted(body) as ActRequest[]
    const replies = await act(requests, AbortSignal.timeout(600_000))
    if (replies.length !== requests.length)
      throw new RlError(`${replies.length} answers to ${requests.length} questions`, {
        code: 'policy.bad-answer',
      })
    return pack(replies)
  }
}

function split(requests: readonly ActRequest[], mostBytes: number): ActRequest[][] {
  const parts: ActRequest[][] = [[]]
  let bytes = 0
  for (const request of requests) {
    const size = sizeOf(request)
    if (bytes > 0 && bytes + size > mostBytes) {
      parts.push([])
      bytes = 0
    }
    parts[parts.length - 1].push(request)
    bytes += size
  }
  return parts
}

/** Bytes of a request in msgpack, not less than it takes: UTF-8 has at most three bytes a code unit. */
function sizeOf({ goal, observations, actions, admissible, frames = [] }: ActRequest): number {
  const texts = [goal, ...observations, ...actions, ...admissible]
  return 400 + 200 * frames.length + texts.reduce((sum, text) => sum + 5 + 3 * text.length, 0)
}
