/** What can go wrong between here and an endpoint, by kind: each is counted, and none is an answer. */
import OpenAI from 'openai'
import { z } from 'zod'

/**
 * - timeout: one call took longer than its limit, or 408
 * - conflict: 409; rate-limit: 429; server: any 5xx
 * - connection: refused, reset, or ended in the middle of the answer
 * - bad-json: the body is not JSON; empty-choices: an answer without a choice; bad-answer: any other shape than the API's
 * - unauthorised: 401 or 403; not-found: 404, mostly a wrong model name, or an adapter that the server has not; context: the prompt is too long; refused: any other 4xx
 */
export type FaultKind =
  | 'timeout'
  | 'conflict'
  | 'rate-limit'
  | 'server'
  | 'connection'
  | 'bad-json'
  | 'empty-choices'
  | 'bad-answer'
  | 'unauthorised'
  | 'not-found'
  | 'context'
  | 'refused'

export type Fault = {
  readonly kind: FaultKind
  readonly message: string
  /** Whether the same request may be answered at another time. */
  readonly passing: boolean
  /** What the server asks to wait, in ms; null where it does not say. */
  readonly retryAfterMs: number | null
}

/** An answer that came and cannot be used. */
export class BadAnswer extends Error {
  override readonly name = 'BadAnswer'
  readonly kind: 'empty-choices' | 'bad-answer'

  constructor(kind: 'empty-choices' | 'bad-answer', message: string) {
    super(message)
    this.kind = kind
  }
}

const wordings = z.union([
  z.object({ error: z.looseObject({ message: z.string() }) }).transform(({ error }) => error),
  z.object({ error: z.string() }).transform(({ error }) => ({ message: error })),
  z.object({ detail: z.string() }).transform(({ detail }) => ({ message: detail })),
  z
    .object({
      detail: z.array(z.object({ loc: z.array(z.union([z.string(), z.number()])), msg: z.string() })),
    })
    .transform(({ detail }) => ({
      message: detail
        .map(({ loc, msg }) => `${loc.filter((part) => part !== 'body').join('.')}: ${msg}`)
        .join('; '),
    })),
  z.object({ message: z.string() }),
])

/** Longest answer: with log-probs a token takes some 150 bytes. */
const MOST_BYTES = 64_000_000
const MOST_REFUSAL_BYTES = 1_000_000

/** The text of a body; longer than `most` bytes it is an answer that cannot be used. */
async function textOf(response: Response, most: number): Promise<string> {
  const parts: Uint8Array[] = []
  let bytes = 0
  for await (const part of response.body ?? []) {
    bytes += part.byteLength
    // Leaving the loop cancels the body.
    if (bytes > most) throw new BadAnswer('bad-answer', `the answer is longer than ${most} bytes`)
    parts.push(part)
  }
  return Buffer.concat(parts, bytes).toString('utf8')
}

/**
 * `fetch` whose refusals are worded as OpenAI words them, which its client reads: servers made with FastAPI say `detail`,
 * others a plain `error` or `message`, some no JSON at all. Bodies are bounded, and JSON by whatever name.
 */
export async function fetchReadably(url: string | URL | Request, init?: RequestInit): Promise<Response> {
  const response = await fetch(url, init)
  if (response.ok) {
    const text = await textOf(response, MOST_BYTES)
    return new Response(withoutInfinities(text), { headers: jsonHeaders(response) })
  }
  const text = await textOf(response, MOST_REFUSAL_BYTES).catch(() => '')
  let error: unknown = { message: text.slice(0, 2_000) || response.statusText }
  try {
    const worded = wordings.safeParse(JSON.parse(text))
    if (worded.success) error = worded.data
  } catch {
    // Not JSON: the text itself is what it says.
  }
  return new Response(JSON.stringify({ error }), { status: response.status, headers: jsonHeaders(response) })
}

/** JSON has no infinities and no NaN; Python writes them all the same, as log-probs of nothing: such a one is untold. */
export function withoutInfinities(text: string): string {
  if (!/Infinity|NaN/.test(text)) return text
  let quoted = false
  return text.replace(/\\[\s\S]|"|-?Infinity|NaN/g, (found) => {
    if (found === '"') quoted = !quoted
    return quoted || /^["\\]/.test(found) ? found : 'null'
  })
}

/**
 * Some servers refuse with status 200 and an error where the choices should be: it is a refusal as any other, by the status that its
 * `code`, `status` or `type` gives in digits or in words.
 */
export function refusalIn(answer: unknown): Error | null {
  if (answerSchema.safeParse(answer).success) return null
  const { data: error } = wordings.safeParse(answer)
  if (error === undefined) return null
  const told: Readonly<Record<string, unknown>> = error
  const status = [told.code, told.status, told.type].map(statusIn).find((one) => one !== null) ?? 400
  return Object.assign(OpenAI.APIError.generate(status, { error }, undefined, new Headers()), {
    message: `answered 200 with an error: ${error.message}`,
  })
}

/** The status that a refusal's code stands for; null where it says nothing of one. */
function statusIn(code: unknown): number | null {
  const digits = Number(code)
  if (Number.isInteger(digits) && digits >= 400 && digits < 600) return digits
  if (typeof code !== 'string') return null
  return PASSING.find(([words]) => words.test(code))?.[1] ?? null
}

/** Codes of refusals that a later call may not meet, as OpenAI, Anthropic, Google and servers made after them write them. */
const PASSING: readonly (readonly [RegExp, number])[] = [
  [/rate_?-?limit|too_?many_?requests|resource_?exhausted/i, 429],
  [/time(?:d_?)?-?_?out|deadline_?exceeded/i, 408],
  [/overloaded|unavailable/i, 503],
  [/server_?error|internal(?:_?error)?$|^api_error$/i, 500],
]

/** An answer's outline: whatever else it says, it is none of an error. */
const answerSchema = z.object({ choices: z.array(z.unknown()).min(1) })

/** Whatever a server calls its answers, they are read as JSON. */
function jsonHeaders(response: Response): Headers {
  const headers = new Headers(response.headers)
  headers.set('content-type', 'application/json')
  headers.delete('content-length')
  headers.delete('content-encoding')
  return headers
}

/** @param timedOut whether the call was ended because it took too long */
export function faultOf(error: unknown, timedOut: boolean): Fault {
  const fault = (kind: FaultKind, passing: boolean, message = messageOf(error)): Fault => ({
    kind,
    passing,
    message,
    retryAfterMs: error instanceof OpenAI.APIError ? retryAfter(error.headers) : null,
  })
  if (timedOut || error instanceof OpenAI.APIConnectionTimeoutError)
    return fault('timeout', true, 'the call took too long')
  if (error instanceof BadAnswer) return fault(error.kind, true)
  if (error instanceof SyntaxError) return fault('bad-json', true)
  if (!(error instanceof OpenAI.APIError) || error.status === undefined) return fault('connection', true)
  const { status } = error
  if (status === 408) return fault('timeout', true)
  if (status === 409) return fault('conflict', true)
  if (status === 429) return fault('rate-limit', true)
  if (status >= 500) return fault('server', true)
  if (status === 401 || status === 403) return fault('unauthorised', false)
  if (status === 404 || UNLOADED.test(error.message)) return fault('not-found', false)
  return fault(isTooLong(error) ? 'context' : 'refused', false)
}

/** SGLang says it with 400. */
const UNLOADED = /requested LoRA adapters are not loaded/

/** Whether a refusal says that a hosted model thought until its tokens were spent: that is an answer which was cut off. */
export function isCutOff(error: unknown): boolean {
  return (
    error instanceof OpenAI.APIError &&
    error.status === 400 &&
    /could not finish the message because max_tokens/i.test(error.message)
  )
}

/** OpenAI has a code for it; the others say it in words: vLLM, SGLang, llama.cpp's server, TGI, Gemini, Anthropic. */
function isTooLong({ code, message, status }: InstanceType<typeof OpenAI.APIError>): boolean {
  return code === 'context_length_exceeded' || status === 413 || TOO_LONG.some((words) => words.test(message))
}

const TOO_LONG = [
  /(?:maximum|exceeds?|longer than).{0,40}context|context (?:length|size|window).{0,40}exceed/i,
  /longer than the maximum model length|exceeds the maximum number of tokens|prompt (?:\(.{0,40}\) )?is too long/i,
  /`inputs`.{0,40}must (?:be <=|have less than)/i,
]

/** The header `retry-after-ms`, or `Retry-After` as seconds or a date. */
function retryAfter(headers: Headers | undefined): number | null {
  const ms = Number.parseFloat(headers?.get('retry-after-ms') ?? '')
  if (Number.isFinite(ms)) return Math.max(0, ms)
  const text = headers?.get('retry-after')
  if (!text) return null
  const seconds = Number(text)
  if (Number.isFinite(seconds)) return Math.max(0, seconds * 1000)
  const date = Date.parse(text)
  return Number.isNaN(date) ? null : Math.max(0, date - Date.now())
}

/** With the innermost cause, which says what happened: of a connection that was refused the outer ones say that it failed. */
function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  let inner: NodeJS.ErrnoException = error
  for (let depth = 0; inner.cause instanceof Error && depth < MOST_CAUSES; depth++) inner = inner.cause
  // Where every address of a name refused, their error has a code alone.
  const why = inner.message || inner.code
  return inner === error || !why ? error.message : `${error.message} (${why})`
}

const MOST_CAUSES = 16
