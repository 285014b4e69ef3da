/** A call that an agent makes in its rollout: sent on to the model, answered as the model answers, and kept as a step. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { z } from 'zod'
import type { Target } from '../actors/learner/targets.ts'
import { type ApiError, apiError, toApiError } from '../models/local/server/errors.ts'
import { BadAnswer } from '../models/openai/faults.ts'
import { type Answer, answerStream, readAnswer } from './answer.ts'
import type { OpenRollout } from './rollouts.ts'
import { readAll, type Upstream } from './upstream.ts'

export type CallsOptions = {
  readonly upstream: Upstream
  /** The model that plays a policy version. */
  readonly targetOf: (policyVersion: number) => Target
  /** Takes secrets out of what the endpoint says. */
  readonly clean: (text: string) => string
  /** Hears of every fault, by kind. */
  readonly onFault: (kind: string) => void
}

export type Calls = (rollout: OpenRollout, body: Buffer, response: ServerResponse) => Promise<void>

/** Longest answer of a model: with log-probs a token takes some 150 bytes. */
const MOST_ANSWER_BYTES = 64_000_000

const bodySchema = z.looseObject({
  model: z.string().nullish(),
  messages: z.array(z.looseObject({ role: z.string() })).min(1),
  n: z.literal(1, 'a rollout has one answer a call: n is 1').nullish(),
  stream: z.boolean().nullish(),
  tools: z.array(z.unknown()).nullish(),
})
type Body = z.infer<typeof bodySchema>

/** Asked for beside what the agent asks: token ids and log-probs make a trajectory trainable. */
const WANTED = { return_token_ids: true, logprobs: true } as const

export function agentCalls({ upstream, targetOf, clean, onFault }: CallsOptions): Calls {
  /** Fields that an endpoint refused, by endpoint and kind of call: a server may take ids in whole answers and not in streams. */
  const refusals = new Map<string, Set<string>>()

  function refusedBy({ baseUrl }: Target, { stream, tools }: Body): Set<string> {
    const kind = `${baseUrl} ${stream ? 'stream' : 'whole'} ${tools ? 'tools' : 'plain'}`
    const known = refusals.get(kind) ?? new Set<string>()
    refusals.set(kind, known)
    return known
  }

  function encode(body: Body, model: string, refused: ReadonlySet<string>): Buffer {
    const sent: Record<string, unknown> = { ...body, model }
    for (const [field, value] of Object.entries(WANTED))
      if (!refused.has(field) && (sent[field] === undefined || sent[field] === null)) sent[field] = value
    return Buffer.from(JSON.stringify(sent))
  }

  function passedOn({ statusCode = 502, headers }: IncomingMessage, body: Buffer): PassedOn {
    return new PassedOn(statusCode, Buffer.from(clean(body.toString('utf8'))), headers['retry-after'])
  }

  /** The answer's head; asked again without a field of ours that the endpoint names as wrong. */
  async function ask(body: Body, target: Target, signal: AbortSignal): Promise<IncomingMessage> {
    const refused = refusedBy(target, body)
    for (;;) {
      const sent = encode(body, target.model, refused)
      const answer = await upstream.post(target, '/chat/completions', sent, signal)
      if (answer.statusCode !== 400 && answer.statusCode !== 422) return answer
      const said = await readAll(answer, 1_000_000, tooLong)
      const named = Object.keys(WANTED).find(
        (field) => !refused.has(field) && !(field in body) && new RegExp(`\\b${field}\\b`).test(`${said}`),
      )
      if (named === undefined) throw passedOn(answer, said)
      refused.add(named)
    }
  }

  return async function call(rollout, raw, response) {
    const body = readBody(raw)
    const { recorder, assignment, inFlight } = rollout
    const { maxSteps, policyVersion } = assignment.request
    if (recorder.steps() + inFlight.size >= maxSteps)
      throw apiError(409, `this rollout has ${maxSteps} calls, and they are made: tell its outcome`, {
        code: 'step_limit',
      })
    const target = targetOf(policyVersion)
    if (body.model != null && body.model !== target.model)
      throw apiError(
        404,
        `the model '${body.model}' does not exist; this rollout is played by '${target.model}'`,
        {
          param: 'model',
          code: 'model_not_found',
        },
      )
    const abort = new AbortController()
    const gone = () => abort.abort()
    inFlight.add(abort)
    response.once('close', gone)
    const keep = (answer: Answer) => {
      if (abort.signal.aborted) return
      const { messages, tools } = body
      recorder.add({ messages, tools, model: target.model, answer })
    }
    try {
      const answer = await ask(body, target, abort.signal)
      if (answer.statusCode !== 200) throw passedOn(answer, await readAll(answer, 1_000_000, tooLong))
      if (body.stream) await passStream(answer, response, keep)
      else await passWhole(answer, response, keep)
    } catch (error) {
      const kind = faultKind(error)
      if (kind !== null) onFault(kind)
      throw asAnswer(error)
    } finally {
      inFlight.delete(abort)
      response.removeListener('close', gone)
    }
  }
}

function readBody(raw: Buffer): Body {
  const parsed = bodySchema.safeParse(parseJson(raw))
  if (parsed.success) return parsed.data
  const [issue] = parsed.error.issues
  const param = issue.path.join('.')
  throw apiError(400, `${param || 'body'}: ${issue.message}`, { param: param || null, code: 'invalid_value' })
}

/** @throws ApiError 400 */
export function parseJson(raw: Buffer): unknown {
  try {
    return JSON.parse(raw.toString('utf8'))
  } catch {
    throw apiError(400, 'the body is not JSON', { code: 'invalid_json' })
  }
}

/** The bytes as they came; read before they are sent, so that a broken answer is a fault and no step. */
async function passWhole(
  answer: IncomingMessage,
  response: ServerResponse,
  keep: (answer: Answer) => void,
): Promise<void> {
  const bytes = await readAll(answer, MOST_ANSWER_BYTES, tooLong)
  keep(readAnswer(JSON.parse(bytes.toString('utf8'))))
  if (response.destroyed) return
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': bytes.byteLength })
  response.end(bytes)
}

/** Events are passed on as they come. Where the stream breaks, so does the agent's, and nothing is kept. */
async function passStream(
  answer: IncomingMessage,
  response: ServerResponse,
  keep: (answer: Answer) => void,
): Promise<void> {
  const stream = answerStream()
  response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache' })
  try {
    for await (const part of answer) {
      stream.push(part as Buffer)
      if (!response.write(part)) await drained(response)
    }
    if (!answer.complete) throw apiError(502, 'the answer of the model broke off', { code: 'connection' })
    keep(stream.end())
    response.end()
  } catch (error) {
    response.destroy()
    throw error
  }
}

function drained(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const go = () => {
      response.removeListener('drain', go)
      response.removeListener('close', go)
      resolve()
    }
    response.on('drain', go)
    response.on('close', go)
  })
}

/** An answer of the endpoint that is none: its status, words and Retry-After go to the agent as they are. */
export class PassedOn extends Error {
  override readonly name = 'PassedOn'
  readonly status: number
  readonly body: Buffer
  readonly retryAfter: string | undefined

  constructor(status: number, body: Buffer, retryAfter: string | undefined) {
    super(`the endpoint answered ${status}`)
    this.status = status
    this.body = body
    this.retryAfter = retryAfter
  }
}

function tooLong(): ApiError {
  return apiError(502, 'the answer of the model is too long', { code: 'bad_answer' })
}

/** The kinds of src/models/openai/faults.ts; null for what is the agent's own doing. */
function faultKind(error: unknown): string | null {
  if (error instanceof BadAnswer) return error.kind
  if (error instanceof SyntaxError) return 'bad-json'
  if (error instanceof PassedOn) {
    if (error.status === 429) return 'rate-limit'
    if (error.status === 408) return 'timeout'
    if (error.status === 409) return 'conflict'
    if (error.status === 401 || error.status === 403) return 'unauthorised'
    if (error.status === 404) return 'not-found'
    return error.status >= 500 ? 'server' : 'refused'
  }
  const { status, body } = toApiError(error)
  if (body.error.code === 'cancelled') return null
  return status === 504 ? 'timeout' : 'connection'
}

function asAnswer(error: unknown): unknown {
  if (error instanceof BadAnswer || error instanceof SyntaxError)
    return apiError(502, `the answer of the model cannot be read: ${error.message}`.slice(0, 500), {
      code: 'bad_answer',
    })
  // The agent's own key is right: it is the gateway that the endpoint does not know.
  if (error instanceof PassedOn && (error.status === 401 || error.status === 403))
    return apiError(502, "the endpoint refuses the gateway's key", { code: 'upstream_unauthorised' })
  return error
}
