import { apiError } from '../../../openai-api/errors.ts'
import type { ModelConfig } from '../config.ts'
import type { ChatBody, CompletionBody } from './requests.ts'

/** Most choices of one answer. */
const MOST_CHOICES = 512

/** @throws ApiError 400 for fields that contradict each other, or that the model cannot fulfil */
export function checkPlan(
  body: ChatBody | CompletionBody,
  { contextTokens, vocabSize }: ModelConfig,
  {
    n,
    wanted,
    prompts,
    maxTokens,
    texts,
    tools,
  }: {
    /** Null if no tool is offered. */
    readonly tools: unknown
    /** The requested number, or none. */
    readonly maxTokens: number | null | undefined
    /** All allowed answers. Null if any text is allowed. */
    readonly texts: readonly string[] | null
    /** Number of choices that are sampled for each prompt, and of those that are returned. */
    readonly n: number
    readonly wanted: number
    readonly prompts: number
  },
): void {
  if (body.best_of != null && body.best_of < wanted)
    throw apiError(400, `best_of is ${body.best_of}, less than n = ${wanted}`, { param: 'best_of' })
  if (n > wanted && body.stream)
    throw apiError(400, "'best_of' cannot be streamed: the best is known at the end", { param: 'best_of' })
  if (body.stream_options && !body.stream)
    throw apiError(400, "'stream_options' needs 'stream': true", {
      param: 'stream_options',
      code: 'invalid_value',
    })
  const limits = [texts, body.guided_json, body.guided_choice, body.choice_token_ids].filter(
    (one) => one != null,
  )
  if (limits.length > 1)
    throw apiError(400, 'one of response_format, guided_json, guided_choice and choice_token_ids at a time', {
      param: 'response_format',
    })
  // Given texts may be calls, but JSON of a schema is none.
  if (tools !== null && body.guided_json)
    throw apiError(400, "'tools' beside 'guided_json': no tool could be called", {
      param: 'tools',
      code: 'unsupported_parameter',
    })
  if (prompts * n > MOST_CHOICES)
    throw apiError(400, `${prompts} prompts with n = ${n}: at most ${MOST_CHOICES} choices`, {
      param: 'n',
    })
  const outside = body.stop_token_ids?.find((id) => id >= vocabSize)
  if (outside !== undefined)
    throw apiError(400, `there is no token ${outside}: the vocabulary has ${vocabSize}`, {
      param: 'stop_token_ids',
      code: 'invalid_value',
    })
  if (maxTokens != null && maxTokens > contextTokens)
    throw apiError(400, `${maxTokens} tokens are asked for; the model's context length is ${contextTokens}`, {
      param: 'max_tokens',
      code: 'context_length_exceeded',
    })
}
