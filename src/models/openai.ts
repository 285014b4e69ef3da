/** The model port over any OpenAI-compatible endpoint: vLLM, SGLang, llama.cpp, `rl serve` or a hosted one. */
import { z } from 'zod'
import { RlError } from '../errors.ts'
import { createLimit } from '../limit.ts'
import { keyIn } from '../openai-api/key.ts'
import { imagesOf } from './content.ts'
import { createAttempts } from './openai/attempts.ts'
import { openClient } from './openai/client.ts'
import { createDataUrls } from './openai/data-urls.ts'
import { deadline } from './openai/deadline.ts'
import { endpointErrors } from './openai/endpoint-errors.ts'
import { faultOf, isCutOff } from './openai/faults.ts'
import { watchOddities } from './openai/oddities.ts'
import { rememberRefusals } from './openai/refusals.ts'
import { countUse, type EndpointUse } from './openai/use.ts'
import { createWindow } from './openai/window.ts'
import { CUT_OFF, fromWire, toWire, type Wire } from './openai/wire.ts'
import type { GenerateRequest, Generation, LanguageModel } from './port.ts'
import type { ModelOptions, PromptedModel } from './provider.ts'
import { whyUntrainable } from './trained-answer.ts'

export type EndpointModel = LanguageModel & PromptedModel & { readonly use: () => EndpointUse }

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
  const { model, apiKeyEnv, callMs, budgetMs, report = () => {} } = options
  const key = keyIn(apiKeyEnv)
  const client = openClient(options, key)
  const errors = endpointErrors({ model, key, apiKeyEnv, budgetMs })
  const dataUrls = createDataUrls(options.readImage)
  const refusals = rememberRefusals({
    kept: options.extraBody ?? {},
    section: options.section,
    report: (message) => report(errors.clean(`${model}: ${message}`)),
  })
  const counter = countUse(options)
  const oddities = watchOddities(model, (message) => report(errors.clean(message)))
  const window = options.window ?? createWindow(options.windowTokens ?? null)

  async function call(request: GenerateRequest, budget: AbortSignal): Promise<Generation> {
    const limit = deadline(callMs, budget)
    let sent: Wire['body'] = {}
    try {
      const images = 'messages' in request.prompt ? imagesOf(request.prompt.messages) : []
      const told = { ...options, ...refusals.told(), urlOf: await dataUrls(images) }
      const { path, body } = toWire(model, request, told)
      sent = body
      await options.permit?.()
      counter.add('requests')
      counter.add('images', images.length)
      const answer = await client.post<unknown>(path, { body, signal: limit.signal })
      const generation = fromWire(answer, { ...request, model })
      if (whyUntrainable(generation, model)) counter.add('untrainable')
      const whole = window.learn(request, generation.usage.promptTokens)
      oddities.see(request, generation, whole)
      counter.addTokens(generation.usage)
      return generation
    } catch (error) {
      if (isCutOff(error)) {
        counter.add('untrainable')
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

  const generateOne = createAttempts({
    call,
    limited: createLimit(options.concurrency),
    errors,
    refusals,
    counter,
    window,
    budgetMs,
    elsewhere: options.elsewhere,
  })

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
      throw errors.unsupported()
    },
    fits: (request) => window.fits(request, windowOfServer),
    use: counter.use,
    counts: counter.counts,
    async close() {},
  }
}

const modelList = z.object({
  data: z.array(z.object({ id: z.string(), max_model_len: z.int().positive().nullish() })),
})
const LIST_MS = 5_000
