/** A call that an agent makes in its rollout. It is sent to the model, answered like the model, and kept as a step. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Target } from '../actors/learner/targets.ts'
import { RlError } from '../errors.ts'
import { isRounded, parseExact } from '../exact-json.ts'
import { BadAnswer, kindOfRefusal, type RefusalWithin } from '../models/openai/faults.ts'
import { isWorded } from '../models/openai/refusals.ts'
import { whyUntrainable } from '../models/trained-answer.ts'
import { parseBody } from '../openai-api/bodies.ts'
import { apiError, toApiError } from '../openai-api/errors.ts'
import { withSystemText } from '../openai-api/system-text.ts'
import { type Seed, seedOf } from '../random.ts'
import type { Answer } from './answer.ts'
import type { Api, Asked } from './apis/api.ts'
import type { OpenRollout } from './open-rollout.ts'
import { isRefusalWithin, PassedOn } from './passed-on.ts'
import { type Passing, passStream, passWhole, passWorded, tooLong, worded } from './passing.ts'
import { readAll, type Upstream } from './upstream.ts'

export type CallsOptions = {
  readonly upstream: Upstream
  /** Returns the model of a policy version. */
  readonly targetOf: (policyVersion: number) => Target
  /** Removes secrets from the endpoint's words. */
  readonly clean: (text: string) => string
  /** Resolves when one more call may be made. Rejects if the budget of the run is spent. */
  readonly permit?: () => Promise<void>
  /** Whether calls may bring the answer themselves, as a recording does. A policy learns from what it drew itself otherwise. */
  readonly takesAnswers?: boolean
  /**
   * Whether the run's own policy answers. Its defaults are neutral, and a call without a seed draws with the seed of its rollout
   * (`seed_words`).
   */
  readonly isLocal?: boolean
  /** Called for every fault, with its kind. */
  readonly onFault: (kind: string) => void
  /** Called for every call that leaves sampling options to the endpoint's defaults, with their names. */
  readonly onUntold: (parameters: readonly string[]) => void
  /** Called for every answer from which nothing can be learned, with the kind of the reason and words for people. */
  readonly onUntrainable?: (kind: string, text: string) => void
}

/** Answers a call. Errors: ApiError and PassedOn, in OpenAI's form. */
export type Calls = (rollout: OpenRollout, api: Api, body: Buffer, response: ServerResponse) => Promise<void>

/** Fields that the gateway adds to the agent's call. Token ids and log-probs make a trajectory trainable. */
const WANTED = {
  '/chat/completions': { return_token_ids: true, logprobs: true },
  '/completions': { return_token_ids: true, logprobs: 0 },
} as const

/**
 * Parameters that a server takes from the model's generation_config.json if a call does not set them. Log-probs are
 * then not those of the sampling.
 */
const SAMPLING = ['top_p', 'top_k', 'min_p', 'repetition_penalty'] as const

/** Hosted reasoning models use another name for it. */
const LENGTH = 'max_tokens'
const NEWER_LENGTH = 'max_completion_tokens'

/** Returns whether the gateway wrote the length field. A chat of the agent's own stays unchanged. */
function namesLength({ wording, body }: Asked): boolean {
  return wording !== null && LENGTH in body
}

/** Returns whether a value asks for something. Clients also write fields that they do not want. 0 asks for the log-prob of the sampled token. */
function asksFor(value: unknown): boolean {
  return value !== undefined && value !== null && value !== false
}

export function agentCalls(options: CallsOptions): Calls {
  const {
    upstream,
    targetOf,
    clean,
    permit,
    takesAnswers = false,
    isLocal = false,
    onFault,
    onUntold,
    onUntrainable,
  } = options
  /** Fields that an endpoint refused, by endpoint and kind of call. A server may report ids in whole answers and not in streams. */
  const refusals = new Map<string, Set<string>>()

  function refusedBy({ baseUrl }: Target, { path, tools }: Asked, streamed: boolean): Set<string> {
    const kind = `${baseUrl}${path} ${streamed ? 'stream' : 'whole'} ${tools ? 'tools' : 'plain'}`
    const known = refusals.get(kind) ?? new Set<string>()
    refusals.set(kind, known)
    return known
  }

  function encode(asked: Asked, { model, system = '' }: Target, refused: ReadonlySet<string>): Buffer {
    const { body, path } = asked
    const sent: Record<string, unknown> = { ...withText(body, system), model }
    if (refused.has(LENGTH) && namesLength(asked)) {
      sent[NEWER_LENGTH] = sent[LENGTH]
      delete sent[LENGTH]
    }
    for (const [field, value] of Object.entries(WANTED[path]))
      if (!refused.has(field) && !asksFor(sent[field])) sent[field] = value
    return Buffer.from(JSON.stringify(sent))
  }

  function passedOn({ statusCode = 0, headers }: IncomingMessage, body: Buffer): Error {
    if (statusCode < 400 || statusCode > 599)
      return apiError(502, `the endpoint answered ${statusCode}, which is neither an answer nor a refusal`, {
        code: 'bad_answer',
      })
    return new PassedOn(
      statusCode,
      Buffer.from(clean(unescaped(body.toString('utf8')))),
      headers['retry-after'],
    )
  }

  /** Returns the refusal that the endpoint sent in place of an answer, or in the middle of one. */
  function refusedWithin({ status = 502, statusTold, error }: RefusalWithin): PassedOn {
    return new PassedOn(
      statusTold ? status : 502,
      Buffer.from(clean(unescaped(JSON.stringify({ error })))),
      undefined,
    )
  }

  /**
   * Returns the answer's head. If the endpoint refuses one of our fields by name, the call is repeated without it, or with the endpoint's
   * own name for the length.
   */
  async function ask(asked: Asked, target: Target, streamed: boolean, signal: AbortSignal) {
    const known = refusedBy(target, asked, streamed)
    const refused = new Set(known)
    for (;;) {
      await permit?.().catch(refuse)
      const sent = encode(asked, target, refused)
      const answer = await upstream.post(target, asked.path, sent, signal)
      if (!isWorded(answer.statusCode)) {
        // If the agent's own fields are wrong, the call is also refused without ours. Then nothing is learned about our fields.
        if (isAnswer(answer)) for (const field of refused) known.add(field)
        return answer
      }
      const said = await readAll(answer, 1_000_000, tooLong)
      const place = (field: string) => `${said}`.search(new RegExp(`\\b${field}\\b`))
      const ours = Object.keys(WANTED[asked.path]).filter((field) => !asksFor(asked.body[field]))
      const fields = namesLength(asked) && place(NEWER_LENGTH) >= 0 ? [...ours, LENGTH] : ours
      // The refused field comes first. Some servers list all fields that they take after it.
      const [named] = fields
        .filter((field) => !refused.has(field) && place(field) >= 0)
        .sort((a, b) => place(a) - place(b))
      if (named === undefined) throw passedOn(answer, said)
      refused.add(named)
    }
  }

  return async function call(rollout, api, raw, response) {
    const asked = askedIn(raw, api)
    const { model, messages, tools, wording } = asked
    const streamed = asked.stream && wording === null
    if (!takesAnswers && asksFor(asked.body.given_answer))
      throw apiError(400, "'given_answer' is not passed on by the gateway: the policy answers", {
        param: 'given_answer',
        code: 'unsupported_parameter',
      })
    const { recorder, assignment, inFlight } = rollout
    const { maxSteps, policyVersion } = assignment.request
    if (recorder.steps() + inFlight.size >= maxSteps)
      throw apiError(
        409,
        `this rollout has ${maxSteps} calls, and all of them are made: report its outcome`,
        {
          code: 'step_limit',
        },
      )
    const target = targetOf(policyVersion)
    if (model !== null && model !== target.model)
      throw apiError(
        404,
        `the model '${model.slice(0, 200)}' does not exist; this rollout is played by '${target.model}'`,
        {
          param: 'model',
          code: 'model_not_found',
        },
      )
    const { body } = asked
    const seed = isLocal && !asksFor(body.seed) && !asksFor(body.seed_words) ? seedOfCall(rollout) : null
    const untold = SAMPLING.filter((name) => asked.body[name] === undefined || asked.body[name] === null)
    if (untold.length > 0 && !isLocal) onUntold(untold)
    const abort = new AbortController()
    const gone = () => abort.abort()
    inFlight.add(abort)
    response.once('close', gone)
    const keep = (answer: Answer) => {
      if (abort.signal.aborted) return
      const why = whyUntrainable(answer.generation, target.model)
      if (why) onUntrainable?.(why.kind, clean(why.text))
      recorder.add({ messages, tools, model: target.model, answer })
    }
    try {
      const seeded = seed === null ? asked : { ...asked, body: { ...body, seed_words: seed } }
      const answer = await ask(seeded, target, streamed, abort.signal)
      if (!isAnswer(answer)) throw passedOn(answer, await readAll(answer, 1_000_000, tooLong))
      const pass: Passing = { answer, response, keep, model: target.model, refused: refusedWithin }
      if (streamed) await passStream(pass)
      else if (wording === null) await passWhole(pass)
      else await passWorded(pass, (read) => worded(wording, asked, read, target.model))
    } catch (cause) {
      const error = isRefusalWithin(cause) ? refusedWithin(cause) : cause
      const kind = faultKind(error)
      if (kind !== null) onFault(kind)
      throw asAnswer(error)
    } finally {
      inFlight.delete(abort)
      response.removeListener('close', gone)
    }
  }
}

/** Returns the seed of the next call. The same call of the same rollout is drawn alike, before a training and after. */
function seedOfCall({ recorder, inFlight, assignment }: OpenRollout): Seed {
  return seedOf(assignment.request.seed, 'call', recorder.steps() + inFlight.size)
}

/** Puts a text before a chat or a prompt. A prompt of token ids stays as it is. */
function withText(body: Asked['body'], text: string): Asked['body'] {
  if (text === '') return body
  const { messages, prompt } = body
  if (Array.isArray(messages)) return { ...body, messages: withSystemText(messages, text) }
  return typeof prompt === 'string' ? { ...body, prompt: `${text}\n\n${prompt}` } : body
}

/** Undoes JSON escapes that are not needed. One text has many spellings in JSON. */
function unescaped(text: string): string {
  return text.replace(/\\(?:(\/)|u00([2-9a-f][0-9a-f])|[\s\S])/gi, (whole, slash, code) => {
    if (code === undefined) return slash ?? whole
    const character = String.fromCharCode(Number.parseInt(code, 16))
    return /["\\]/.test(character) ? `\\${character}` : character
  })
}

/** Any success status counts, as for clients. */
function isAnswer({ statusCode = 0 }: IncomingMessage): boolean {
  return statusCode >= 200 && statusCode < 300
}

/** 403 is no status that clients try again. */
function refuse(error: unknown): never {
  const isSpent = error instanceof RlError && error.code === 'model.budget-spent'
  throw isSpent ? apiError(403, error.message, { code: 'budget_spent' }) : error
}

/**
 * Reads what an agent asks. Integers beyond the precision of numbers are sent on with every digit. Errors: ApiError
 * 400.
 */
function askedIn(raw: Buffer, api: Api): Asked {
  const text = raw.toString('utf8')
  const asked = api.read(parseBody(text))
  if (!LONG_NUMBER.test(text)) return asked
  const exact = api.read(parseExact(text, isRounded))
  const plain = (value: unknown) => (value === undefined ? value : JSON.parse(JSON.stringify(value)))
  return { ...exact, messages: plain(exact.messages), tools: plain(exact.tools) }
}

/** A number holds all shorter integers exactly. */
const LONG_NUMBER = /\d{16}/

/** Returns a kind of src/models/openai/faults.ts, or null if the agent caused the error. */
function faultKind(error: unknown): string | null {
  if (error instanceof BadAnswer) return error.kind
  if (error instanceof SyntaxError) return 'bad-json'
  if (error instanceof PassedOn) return kindOfRefusal(error.status, { message: error.said() })
  const { status, body } = toApiError(error)
  if (body.error.code === 'cancelled') return null
  if (body.error.code === 'bad_answer') return 'bad-answer'
  return status === 504 ? 'timeout' : 'connection'
}

function asAnswer(error: unknown): unknown {
  if (error instanceof BadAnswer || error instanceof SyntaxError) {
    // A parser's error quotes its input, which may hold a key.
    const why = error instanceof BadAnswer ? error.message : 'it is not JSON'
    return apiError(502, `the answer of the model cannot be read: ${why}`.slice(0, 500), {
      code: 'bad_answer',
    })
  }
  // The agent's own key is right. The endpoint does not know the gateway.
  if (error instanceof PassedOn && (error.status === 401 || error.status === 403))
    return apiError(502, "the endpoint refuses the gateway's key", { code: 'upstream_unauthorised' })
  return error
}
