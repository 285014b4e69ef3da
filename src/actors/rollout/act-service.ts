/** Both ends of `call.policy.act`: msgpack over the bus, cut into messages that fit. */
import { z } from 'zod'
import { RlError } from '../../errors.ts'
import type { Serve } from '../../events/bus.ts'
import type { LogClient } from '../../events/log-client.ts'
import { type Bounds, pack, unpackUntrusted } from '../../events/msgpack.ts'
import { problemOf } from '../../events/shape.ts'
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
        const later = error instanceof RlError && LATER.has(error.code)
        if (!later || signal.aborted || performance.now() > until) throw error
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
/** There is no worker yet, or it has as much in hand as it takes. */
const LATER: ReadonlySet<string> = new Set(['bus.no-responder', 'bus.busy'])

const texts = z.array(z.string())
const actRequests = z.array(
  z.object({
    rollout: z.string(),
    task: z.string(),
    kind: z.string(),
    goal: z.string(),
    observations: texts,
    actions: texts,
    frames: z
      .array(
        z.object({
          sha256: z.string(),
          bytes: z.number(),
          mediaType: z.string(),
          width: z.number(),
          height: z.number(),
        }),
      )
      .optional(),
    admissible: texts,
    tools: z
      .array(
        z.object({
          name: z.string(),
          description: z.string(),
          parameters: z.record(z.string(), z.unknown()),
        }),
      )
      .optional(),
    packedTokens: z.number(),
    policyVersion: z.number(),
    seed: z.tuple([z.number(), z.number()]),
    evaluation: z.boolean(),
  }),
)
const ACT_BOUNDS: Bounds = { bytes: 8 * 1024 * 1024, values: 262_144 }

function readRequests(body: Uint8Array): readonly ActRequest[] {
  const requests = unpackUntrusted(body, ACT_BOUNDS)
  const problem = problemOf(actRequests, requests)
  if (problem === null) return requests as readonly ActRequest[]
  throw new RlError(`no questions for a policy: ${problem}`, { code: 'bus.bad-request' })
}

/** Asks a policy worker of this process. */
export function actIn(service: Serve): Act {
  return async function askHere(requests) {
    return unpackUntrusted(await service(pack(requests), ACT_SERVICE)) as ActReply[]
  }
}

export function serveAct(act: Act): Serve {
  return async function answerAct(body) {
    const requests = readRequests(body)
    const replies = await act(requests, AbortSignal.timeout(600_000))
    if (replies.length !== requests.length)
      throw new RlError(`${replies.length} answers to ${requests.length} questions`, {
        code: 'policy.bad-answer',
      })
    return pack(replies)
  }
}

function split(requests: readonly ActRequest[], mostBytes: number): ActRequest[][] {
  let part: ActRequest[] = []
  const parts = [part]
  let bytes = 0
  for (const request of requests) {
    const size = sizeOf(request)
    if (bytes > 0 && bytes + size > mostBytes) {
      part = []
      parts.push(part)
      bytes = 0
    }
    part.push(request)
    bytes += size
  }
  return parts
}

/** Bytes of a request in msgpack, not less than it takes: UTF-8 has at most three bytes a code unit. */
function sizeOf({ goal, observations, actions, admissible, frames = [], tools }: ActRequest): number {
  const texts = [goal, ...observations, ...actions, ...admissible, ...(tools ? [JSON.stringify(tools)] : [])]
  return 400 + 200 * frames.length + texts.reduce((sum, text) => sum + 5 + 3 * text.length, 0)
}
