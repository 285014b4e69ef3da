/** The model port over any OpenAI-compatible endpoint: vLLM, SGLang, llama.cpp, `rl serve` or a hosted one. */
import OpenAI from 'openai'
import { z } from 'zod'
import { RlError } from '../errors.ts'
import { createLimit } from '../limit.ts'
import { keyIn, withoutKey } from '../openai-api/key.ts'
import { withoutCredentials } from '../secrets.ts'
import { imagesOf } from './content.ts'
import { createDataUrls } from './openai/data-urls.ts'
import { deadline, pauseOrThrow } from './openai/deadline.ts'
import { type Fault, type FaultKind, faultOf, fetchReadably, isCutOff } from './openai/faults.ts'
import { watchOddities } from './openai/oddities.ts'
import { rememberRefusals } from './openai/refusals.ts'
import { createWindow } from './openai/window.ts'
import { CUT_OFF, fromWire, toWire, type Wire } from './openai/wire.ts'
import type { GenerateRequest, Generation, LanguageModel } from './port.ts'
import type { ModelOptions, PromptedModel } from './provider.ts'
import { whyUntrainable } from './trained-answer.ts'

/** Counters of an endpoint since it was opened. */
export type EndpointUse = {
  readonly requests: number
  /** Number of calls that were repeated after a passing fault. */
  readonly retries: number
  readonly promptTokens: number
  readonly cachedTokens: number
  readonly completionTokens: number
  /** Number of images sent, counted each time. */
  readonly images: number
  /** Number of answers without token ids or log-probs, or from another model. Nothing can be learned from them. */
  readonly untrainable: number
  /** Number of prompts that were not sent because they cannot fit. */
  readonly unsent: number
  /** In the currency of the prices. Null if no price is known. */
  readonly cost: number | null
  /** Number of faults by kind, also of those that a retry mended. */
  readonly faults: Readonly<Partial<Record<FaultKind, number>>>
}

export type EndpointModel = LanguageModel & PromptedModel & { readonly use: () => EndpointUse }

/** A call without an answer, and the body that it sent. */
type Failed = {
  readonly fault: Fault
  readonly error: unknown
  readonly sent: Wire['body']
}

/**
 * Opens an endpoint. Nothing is sent yet. `generate` repeats a call after passing faults (408, 409, 429, 5xx, lost connections, broken
 * answers) as long as the budget lasts, and not before the server's Retry-After.
 * @throws RlError
 * - `config.missing-key` without a key for the default endpoint
 * - `config.key` if no header can hold the key
 * - `model.endpoint` for an address with a password
 *
 * Errors of `generate`:
 * - `model.aborted` if the signal fired
 * - `model.deadline` if the budget ran out
 * - `model.unreachable` if the connection was lost and another server has the model
 * - `model.context` if the prompt is too long
 * - `model.not-found` if the server does not know the name
 * - `model.endpoint` for every other fault that no retry helps
 * @example
 * const model = openEndpoint({
 *   model: 'Qwen/Qwen3-8B', baseUrl: 'http://127.0.0.1:8000/v1', apiKeyEnv: 'OPENAI_API_KEY',
 *   concurrency: 8, callMs: 60_000, budgetMs: 300_000, promptPrice: null, completionPrice: null,
 * })
 */
export function openEndpoint(options: ModelOptions): EndpointModel {
  const { model, baseUrl, apiKeyEnv, callMs, budgetMs, report = () => {} } = options
  const key = keyIn(apiKeyEnv)
  if (key === null && baseUrl === null)
    throw new RlError(`the environment variable ${apiKeyEnv} is not set`, {
      code: 'config.missing-key',
      hint: 'set it to the API key, or set baseUrl to a server that needs none',
    })
  if (baseUrl !== null && withoutCredentials(baseUrl) !== baseUrl)
    throw new RlError(
      `${model}: the address ${withoutCredentials(baseUrl)} has a user or a password, which fetch refuses`,
      {
        code: 'model.endpoint',
        hint: `put a key into ${apiKeyEnv}; it is sent as Authorization: Bearer`,
      },
    )
  const client = new OpenAI({
    apiKey: key ?? 'none',
    baseURL: baseUrl ?? undefined,
    maxRetries: 0,
    timeout: callMs,
    logLevel: 'off',
    fetch: fetchReadably,
  })
  const limited = createLimit(options.concurrency)
  const dataUrls = createDataUrls(options.readImage)
  const refusals = rememberRefusals({
    kept: options.extraBody ?? {},
    section: options.section,
    report: (message) => report(clean(`${model}: ${message}`)),
  })
  const used = {
    requests: 0,
    retries: 0,
    promptTokens: 0,
    cachedTokens: 0,
    completionTokens: 0,
    images: 0,
    untrainable: 0,
    unsent: 0,
  }
  const faults: Partial<Record<FaultKind, number>> = {}
  const oddities = watchOddities(model, (message) => report(clean(message)))
  const window = options.window ?? createWindow(options.windowTokens ?? null)

  const clean = (text: string) => withoutCredentials(withoutKey(text, key)).slice(0, 500)
  const fail = (code: string, text: string, hint?: string) =>
    new RlError(`${model}: ${clean(text)}`, { code, hint })

  async function call(request: GenerateRequest, budget: AbortSignal): Promise<Generation> {
    const limit = deadline(callMs, budget)
    let sent: Wire['body'] = {}
    try {
      const images = 'messages' in request.prompt ? imagesOf(request.prompt.messages) : []
      const told = { ...options, ...refusals.told(), urlOf: await dataUrls(images) }
      const { path, body } = toWire(model, request, told)
      sent = body
      await options.permit?.()
      used.requests++
      used.images += images.length
      const answer = await client.post<unknown>(path, { body, signal: limit.signal })
      const generation = fromWire(answer, { ...request, model })
      if (whyUntrainable(generation, model)) used.untrainable++
      const whole = window.learn(request, generation.usage.promptTokens)
      oddities.see(request, generation, whole)
      used.promptTokens += generation.usage.promptTokens
      used.cachedTokens += generation.usage.cachedTokens
      used.completionTokens += generation.usage.completionTokens
      return generation
    } catch (error) {
      if (isCutOff(error)) {
        used.untrainable++
        return CUT_OFF
      }
      throw budget.aborted || error instanceof RlError
        ? error
        : { fault: faultOf(error, limit.expired()), error, sent }
    } finally {
      limit.clear()
    }
  }

  /** Reads the context from the server's list of models. vLLM, SGLang and `rl serve` report it there. */
  async function windowOfServer(): Promise<number | null> {
    const answer = await client.get<unknown>('/models', { timeout: Math.min(callMs, LIST_MS) })
    const { data } = modelList.parse(answer)
    const own = data.find(({ id }) => id === model) ?? data.find(({ id }) => model.startsWith(`${id}:`))
    return own?.max_model_len ?? null
  }

  async function generateOne(request: GenerateRequest, signal: AbortSignal): Promise<Generation> {
    const excess = window.excess(request)
    if (excess) {
      used.unsent++
      throw fail(
        'model.context',
        `a prompt of some ${excess.tokens} tokens, with an answer of up to ${request.maxTokens}, does not fit a context of ${excess.context}, and was not sent`,
        'a shorter answer (maxTokens), fewer steps in prompts (policy.historySteps), or a longer context (windowTokens)',
      )
    }
    const budget = deadline(budgetMs, signal)
    const startedMs = performance.now()
    let last: Fault | null = null
    let called = false
    const calling = () => {
      called = true
      return call(request, budget.signal)
    }
    try {
      for (let attempt = 0; ; attempt++) {
        let failed: Failed
        try {
          return await limited(budget.signal, calling)
        } catch (error) {
          if (budget.signal.aborted || error instanceof RlError) throw error
          failed = error as Failed
        }
        // vLLM names fields in its refusal if a prompt leaves no room for the answer.
        if (failed.fault.kind !== 'context' && refusals.adapts(failed.error, failed.sent)) continue
        last = failed.fault
        faults[last.kind] = (faults[last.kind] ?? 0) + 1
        if (last.kind === 'context') window.refused(request, last.message)
        if (!last.passing) throw terminal(failed)
        if (last.kind === 'connection' && attempt > 0 && options.elsewhere?.())
          throw fail('model.unreachable', `${last.kind}: ${last.message}`)
        const waitMs = backoffMs(attempt, last.retryAfterMs)
        if (performance.now() - startedMs + waitMs >= budgetMs) throw outOfTime(last, called)
        used.retries++
        await pauseOrThrow(waitMs, budget.signal)
      }
    } catch (error) {
      if (error instanceof RlError) throw error
      if (budget.expired()) throw outOfTime(last, called)
      throw fail('model.aborted', 'the call was cancelled')
    } finally {
      budget.clear()
    }
  }

  function terminal({ fault: { kind, message }, error, sent }: Failed): RlError {
    if (kind === 'context') return fail('model.context', message)
    const hint =
      kind === 'unauthorised'
        ? `check the key in ${apiKeyEnv}`
        : kind === 'not-found'
          ? 'check the model name and baseUrl'
          : (refusals.advice(error, sent) ?? 'the endpoint does not accept such a request')
    return fail(kind === 'not-found' ? 'model.not-found' : 'model.endpoint', `${kind}: ${message}`, hint)
  }

  function outOfTime(last: Fault | null, called: boolean): RlError {
    const waited = called ? 'the call was not answered' : 'it waited for other calls'
    const why = last ? `the last fault was ${last.kind}: ${last.message}` : waited
    return fail('model.deadline', `no answer within ${budgetMs / 1000} s; ${why}`)
  }

  function cost(): number | null {
    const { promptPrice, completionPrice } = options
    if (promptPrice === null && completionPrice === null) return null
    return (used.promptTokens * (promptPrice ?? 0) + used.completionTokens * (completionPrice ?? 0)) / 1e6
  }

  const use = (): EndpointUse => ({ ...used, cost: cost(), faults: { ...faults } })

  return {
    describe: () => ({
      name: model,
      provider: 'openai',
      // The endpoint knows its context and refuses longer prompts.
      contextTokens: Number.POSITIVE_INFINITY,
      parameters: null,
      backend: null,
    }),
    async generate(requests, signal) {
      const together = new AbortController()
      const stop = () => together.abort(signal?.reason)
      if (signal?.aborted) stop()
      signal?.addEventListener('abort', stop, { once: true })
      try {
        return await Promise.all(requests.map((request) => generateOne(request, together.signal)))
      } finally {
        signal?.removeEventListener('abort', stop)
        together.abort()
      }
    },
    async score() {
      throw fail('model.unsupported', 'an endpoint returns no log-probs of given tokens')
    },
    fits: (request) => window.fits(request, windowOfServer),
    use,
    counts() {
      const { cost, faults, ...counts } = use()
      const named = Object.entries(faults).map(([kind, count]) => [`fault ${kind}`, count])
      return { ...counts, ...(cost === null ? {} : { cost }), ...Object.fromEntries(named) }
    },
    async close() {},
  }
}

const modelList = z.object({
  data: z.array(z.object({ id: z.string(), max_model_len: z.int().positive().nullish() })),
})
const LIST_MS = 5_000

const FIRST_WAIT_MS = 250
const LONGEST_WAIT_MS = 8_000

/** Doubles with each attempt. The wait is a random half to full length, and never less than the server asks for. */
function backoffMs(attempt: number, retryAfterMs: number | null): number {
  const doubled = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** attempt)
  const jittered = doubled * (0.5 + Math.random() / 2)
  return retryAfterMs === null ? jittered : retryAfterMs + jittered / 4
}
