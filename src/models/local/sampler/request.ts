/** A request for a continuation of a prompt, its checks, and its result. */
import { RlError } from '../../../errors.ts'
import type { Seed } from '../../../random.ts'
import type { FinishReason } from '../../port.ts'
import type { ModelConfig } from '../config.ts'
import type { Draw } from '../sampling.ts'
import { checkTokens } from '../transformer.ts'

export type SampleRequest = {
  readonly prompt: Int32Array
  readonly maxTokens: number
  readonly temperature: number
  readonly topP: number
  readonly topK?: number
  readonly minP?: number
  readonly repetitionPenalty?: number
  readonly logprobs?: 'model' | 'sampling'
  /** In addition to the model's own end tokens. */
  readonly stopTokens: readonly number[]
  readonly stopTexts: readonly string[]
  readonly seed: Seed
  readonly choices?: readonly (readonly number[])[]
  readonly given?: readonly number[]
  readonly cacheKey?: string
  readonly entropies?: boolean
  /** Number of likeliest tokens to return for each position. */
  readonly topLogprobs?: number
  /** Number of tokens that must fit behind the prompt. `maxTokens` is cut to the room left. */
  readonly roomFor?: number
  /** Called for every new token, also for forced ones. */
  readonly onToken?: (draw: Draw, top: readonly Draw[]) => void
}

export type SampleResult = {
  readonly tokens: Int32Array
  readonly logprobs: Float32Array
  readonly finish: FinishReason
  /** Index of the stop text that ended the generation. Null if none did. */
  readonly stopText: number | null
  /** Number of prompt tokens that were not computed again. */
  readonly cachedTokens: number
  readonly top: readonly (readonly Draw[])[]
  /** [tokens] Empty unless they were asked for. */
  readonly entropies: Float32Array
}

/** @throws RlError `model.context` or `model.input` if the request cannot be served */
export function checkRequest(config: ModelConfig, request: SampleRequest): void {
  const { prompt, maxTokens, temperature, topP, choices } = request
  const { topK = 0, minP = 0, repetitionPenalty = 1, roomFor = 0 } = request
  const refuse = (message: string, hint: string) => {
    throw new RlError(message, { code: 'model.input', hint })
  }
  if (prompt.length === 0) refuse('the prompt has no tokens', 'give at least one')
  if (prompt.length + roomFor > config.contextTokens) {
    const behind = roomFor > 0 ? ` and ${roomFor} must fit behind it` : ''
    throw new RlError(
      `the prompt has ${prompt.length} tokens${behind}; the model's context length is ${config.contextTokens}`,
      {
        code: 'model.context',
        hint: 'shorten it; if the cache limits the context, raise policy.cacheMegabytes or --cache-megabytes',
      },
    )
  }
  if (!Number.isInteger(maxTokens) || maxTokens < 0)
    refuse(`maxTokens is ${maxTokens}`, 'give a whole number')
  if (!(temperature >= 0 && temperature < Number.POSITIVE_INFINITY))
    refuse(`temperature is ${temperature}`, 'give a number of at least 0')
  if (!(topP > 0 && topP <= 1)) refuse(`topP is ${topP}`, 'give a number above 0 and up to 1')
  if (!(Number.isInteger(topK) && topK >= 0)) refuse(`topK is ${topK}`, 'give a whole number; 0 keeps all')
  if (!(minP >= 0 && minP <= 1)) refuse(`minP is ${minP}`, 'give a number of 0 to 1')
  if (!(repetitionPenalty > 0)) refuse(`repetitionPenalty is ${repetitionPenalty}`, 'give a number above 0')
  checkTokens(config, prompt)
  for (const choice of choices ?? [])
    checkTokens(
      config,
      choice.filter((token) => token >= 0),
    )
  checkTokens(config, request.given ?? [])
}
