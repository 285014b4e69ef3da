/** Faults between this process and an endpoint, by kind. Each is counted, and none is an answer. */
import OpenAI from 'openai'
import { z } from 'zod'
import { isWronglyEncoded, UnknownEncoding } from '../../platform/content-encoding.ts'
import { httpFetch, RefusedRedirect } from '../../platform/http.ts'
import { safeParse } from '../../safe-parse.ts'

/**
 * - timeout: one call took longer than its limit, or 408
 * - conflict: 409
 * - rate-limit: 429
 * - server: any 5xx
 * - connection: refused, reset, or ended in the middle of the answer
 * - bad-json: the body is not JSON
 * - empty-choices: an answer without a choice
 * - bad-answer: any other shape than the API's
 * - unauthorised: 401 or 403
 * - not-found: 404, mostly a wrong model name or an adapter that the server does not have
 * - context: the prompt is too long
 * - refused: any other 4xx
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
  /** Whether a later attempt with the same request may succeed. */
  readonly passing: boolean
  /** Wait that the server asks for, in ms. Null if it names none. */
  readonly retryAfterMs: number | null
}

/** An answer that arrived and cannot be used. */
export class BadAnswer extends Error {
  override readonly name = 'BadAnswer'
  readonly kind: 'empty-choices' | 'bad-answer'
  /** Whether a later attempt with the same request may succeed. */
  readonly passing: boolean

  constructor(kind: 'empty-choices' | 'bad-answer', message: string, passing = true) {
    super(message)
    this.kind = kind
    this.passing = passing
  }
}

const wording = z.union([
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
  // The wording is of no known form, so it is shown whole.
  z
    .object({ error: z.looseObject({}).refine((told) => Object.keys(told).length > 0) })
    .transform(({ error }) => ({ ...error, message: JSON.stringify(error).slice(0, 2_000) })),
])
/** Google wraps the error in a list of one. */
const wordings = z.union([wording, z.tuple([wording]).transform(([only]) => only)])

/** Returns a refusal's words in OpenAI's form, or null if it is no refusal. */
export function wordsIn(refusal: unknown): { readonly message: string } | null {
  return safeParse(wordings, refusal).data ?? null
}

/** Longest answer. With log-probs a token takes some 150 bytes. */
const MOST_BYTES = 64_000_000
const MOST_REFUSAL_BYTES = 1_000_000

/** Reads a body. A body longer than `most` bytes is unusable, now or later. */
async function bytesOf(response: Response, most: number): Promise<Uint8Array> {
  const parts: Uint8Array[] = []
  let bytes = 0
  for await (const part of response.body ?? []) {
    bytes += part.byteLength
    // The end of the loop cancels the body.
    if (bytes > most) throw new BadAnswer('bad-answer', `the answer is longer than ${most} bytes`, false)
    parts.push(part)
  }
  return Buffer.concat(parts, bytes)
}

/**
 * Returns the text of an answer, without a byte order mark.
 * @throws BadAnswer if it is not UTF-8: a lossy reading would change the answer
 */
export function utf8Of(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    throw new BadAnswer('bad-answer', 'the answer is not UTF-8')
  }
}

/**
 * `fetch` with refusals in OpenAI's form, which OpenAI's client can read. Servers made with FastAPI say `detail`, others a plain
 * `error` or `message`, some no JSON at all. Bodies are bounded and count as JSON whatever their content type.
 */
export async function fetchReadably(url: string | URL | Request, init?: RequestInit): Promise<Response> {
  const response = await httpFetch(url, init).catch(readably)
  if (response.ok) {
    const text = utf8Of(await bytesOf(response, MOST_BYTES).catch(readably))
    return new Response(withoutInfinities(text), { headers: jsonHeaders(response) })
  }
  // The text of a refusal is read by people, so a lossy decoding is enough.
  const text = await bytesOf(response, MOST_REFUSAL_BYTES).then(
    (bytes) => new TextDecoder().decode(bytes),
    () => '',
  )
  let error: unknown = { message: text.slice(0, 2_000) || response.statusText }
  try {
    error = wordsIn(JSON.parse(text)) ?? error
  } catch {
    // Not JSON: the text itself is the message.
  }
  return new Response(JSON.stringify({ error }), { status: response.status, headers: jsonHeaders(response) })
}

/** Throws errors that no retry can mend as BadAnswer, others unchanged. */
function readably(error: unknown): never {
  if (error instanceof UnknownEncoding || error instanceof RefusedRedirect)
    throw new BadAnswer('bad-answer', error.message, false)
  if (isWronglyEncoded(error)) throw new BadAnswer('bad-answer', 'the answer is not in its content-encoding')
  throw error
}

/**
 * Replaces infinities and NaN, which JSON does not have, by null. Python writes them, e.g. for log-probs of nothing. They count as missing.
 */
export function withoutInfinities(text: string): string {
  if (!/Infinity|NaN/.test(text)) return text
  let quoted = false
  return text.replace(/\\[\s\S]|"|-?Infinity|NaN/g, (found) => {
    if (found === '"') quoted = !quoted
    return quoted || /^["\\]/.test(found) ? found : 'null'
  })
}

/**
 * Some servers refuse with status 200 and an error in place of the choices. Returns such a refusal, with the status that its `code`,
 * `status` or `type` gives in digits or in words. Returns null if the answer has choices.
 */
export function refusalIn(answer: unknown): RefusalWithin | null {
  if (safeParse(answerSchema, answer).success) return null
  const error = wordsIn(answer)
  return error && refusalOf(error, 'answered 200 with an error')
}

/** Returns the refusal in an event of a stream, or null. An error ends the answer, even beside choices. */
export function refusalInEvent(event: unknown): RefusalWithin | null {
  const { choices, error } = (event ?? {}) as { readonly choices?: unknown; readonly error?: unknown }
  const isTold = error ? wordsIn({ error }) : choices === undefined ? wordsIn(event) : null
  return isTold && refusalOf(isTold, 'the stream reports an error')
}

/** A refusal inside an answer. */
export type RefusalWithin = InstanceType<typeof OpenAI.APIError> & {
  /** Whether the refusal named its status, or a word for it. */
  readonly statusTold: boolean
}

function refusalOf(error: { readonly message: string }, how: string): RefusalWithin {
  const told: Readonly<Record<string, unknown>> = error
  const status = [told.code, told.status, told.type].map(statusIn).find((one) => one !== null) ?? null
  return Object.assign(OpenAI.APIError.generate(status ?? 400, { error }, undefined, new Headers()), {
    message: `${how}: ${error.message}`,
    statusTold: status !== null,
  })
}

/** Returns the status that a refusal's code stands for, or null if it names none. */
function statusIn(code: unknown): number | null {
  const digits = Number(code)
  if (Number.isInteger(digits) && digits >= 400 && digits < 600) return digits
  if (typeof code !== 'string') return null
  return PASSING.find(([words]) => words.test(code))?.[1] ?? null
}

/** Codes of refusals that may pass, as OpenAI, Anthropic, Google and compatible servers write them. */
const PASSING: readonly (readonly [RegExp, number])[] = [
  [/rate_?-?limit|too_?many_?requests|resource_?exhausted/i, 429],
  [/time(?:d_?)?-?_?out|deadline_?exceeded/i, 408],
  [/overloaded|unavailable/i, 503],
  [/server_?error|internal(?:_?error)?$|^api_error$/i, 500],
]

/** Outline of an answer. If it fits, the answer is no error, whatever else it says. */
const answerSchema = z.object({ choices: z.array(z.unknown()).min(1) })

/** Answers are read as JSON, whatever their content type. */
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
  // The client reports every broken answer as a lost connection.
  const bad = causesOf(error).find((cause) => cause instanceof BadAnswer)
  if (bad) return fault(bad.kind, bad.passing, bad.message)
  if (error instanceof SyntaxError) return fault('bad-json', true)
  if (!(error instanceof OpenAI.APIError) || error.status === undefined) return fault('connection', true)
  const kind = kindOfRefusal(error.status, error)
  return fault(kind, PASSING_KINDS.has(kind))
}

/** Returns the kind of a refusal by its status, and by its words if the status is ambiguous. */
export function kindOfRefusal(
  status: number,
  { message, code }: { readonly message: string; readonly code?: string | null },
): FaultKind {
  if (status === 408) return 'timeout'
  if (status === 409) return 'conflict'
  if (status === 429) return 'rate-limit'
  if (status >= 500) return 'server'
  if (status === 401 || status === 403) return 'unauthorised'
  if (status === 404 || UNLOADED.test(message)) return 'not-found'
  return isTooLong({ status, message, code }) ? 'context' : 'refused'
}

const PASSING_KINDS: ReadonlySet<FaultKind> = new Set(['timeout', 'conflict', 'rate-limit', 'server'])

/** SGLang answers this with status 400. */
const UNLOADED = /requested LoRA adapters are not loaded/

/** Returns whether a hosted model used up its tokens on thinking. Such a refusal is an answer that was cut off. */
export function isCutOff(error: unknown): boolean {
  return (
    error instanceof OpenAI.APIError &&
    error.status === 400 &&
    /could not finish the message because max_tokens/i.test(error.message)
  )
}

type RefusalWords = { readonly status: number; readonly message: string; readonly code?: string | null }

/** OpenAI has a code for it. The others say it in words: vLLM, SGLang, llama.cpp's server, TGI, Gemini, Anthropic. */
function isTooLong({ code, message, status }: RefusalWords): boolean {
  return code === 'context_length_exceeded' || status === 413 || TOO_LONG.some((words) => words.test(message))
}

const TOO_LONG = [
  /(?:maximum|exceeds?|longer than).{0,40}context|context (?:length|size|window).{0,40}exceed/i,
  /longer than the maximum model length|exceeds the maximum number of tokens|prompt (?:\(.{0,40}\) )?is too long/i,
  /`inputs`.{0,40}must (?:be <=|have less than)/i,
]

/** Reads the header `retry-after-ms`, or `Retry-After` as seconds or a date. */
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

/** Returns the message with that of the innermost cause. Outer errors say only that the connection failed; the cause says why. */
function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const inner: NodeJS.ErrnoException = causesOf(error).at(-1) ?? error
  // If all addresses of a name refused, their error has only a code.
  const why = inner.message || inner.code
  return inner === error || !why ? error.message : `${error.message} (${why})`
}

/** Returns an error and its causes, the innermost last. */
function causesOf(error: unknown): readonly Error[] {
  const causes: Error[] = []
  for (let one = error; one instanceof Error && causes.length < MOST_CAUSES; one = one.cause) causes.push(one)
  return causes
}

const MOST_CAUSES = 16
