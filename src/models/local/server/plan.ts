import { randomBytes } from 'node:crypto'
import { type Seed, seedOf } from '../../../random.ts'
import type { Prompt } from '../../port.ts'
import type { LocalModelFace, LocalRequest } from '../model.ts'
import { apiError } from './errors.ts'
import type { ChatBody, CompletionBody } from './requests.ts'

/** What a body asks the model for: one request for each choice of the answer, in its order. */
export type Plan = {
  readonly requests: readonly LocalRequest[]
  readonly stream: boolean
  readonly usageInStream: boolean
  readonly logprobs: boolean
  readonly tokenIds: boolean
}

const DEFAULT_COMPLETION_TOKENS = 16
const MOST_CHOICES = 512

export function planChat(body: ChatBody, model: LocalModelFace): Plan {
  const messages = body.messages.map(({ role, content }) => ({
    role: role === 'developer' ? ('system' as const) : role,
    content,
  }))
  const maxTokens = body.max_completion_tokens ?? body.max_tokens ?? model.ready.config.contextTokens
  const topLogprobs = body.logprobs ? (body.top_logprobs ?? 0) : 0
  const template = body.chat_template_kwargs ?? undefined
  return plan(body, model, [{ messages, template }], {
    maxTokens,
    topLogprobs,
    logprobs: body.logprobs ?? false,
  })
}

export function planCompletion(body: CompletionBody, model: LocalModelFace): Plan {
  if (body.chat_template_kwargs)
    throw apiError(400, "'chat_template_kwargs' belongs to chats", { param: 'chat_template_kwargs' })
  const maxTokens = body.max_tokens ?? DEFAULT_COMPLETION_TOKENS
  const logprobs = body.logprobs != null
  return plan(body, model, promptsOf(body.prompt), { maxTokens, topLogprobs: body.logprobs ?? 0, logprobs })
}

function promptsOf(prompt: CompletionBody['prompt']): Prompt[] {
  if (typeof prompt === 'string') return [{ text: prompt }]
  const first = prompt[0]
  if (typeof first === 'number') return [{ tokens: prompt as number[] }]
  return (prompt as (string | number[])[]).map((one) =>
    typeof one === 'string' ? { text: one } : { tokens: one },
  )
}

function plan(
  body: ChatBody | CompletionBody,
  { tokenizer, ready }: LocalModelFace,
  prompts: readonly Prompt[],
  {
    maxTokens,
    topLogprobs,
    logprobs,
  }: { readonly maxTokens: number; readonly topLogprobs: number; readonly logprobs: boolean },
): Plan {
  const n = body.n ?? 1
  if (prompts.length * n > MOST_CHOICES)
    throw apiError(400, `${prompts.length} prompts with n = ${n}: at most ${MOST_CHOICES} choices`, {
      param: 'n',
    })
  const { contextTokens } = ready.config
  if (maxTokens > contextTokens)
    throw apiError(400, `${maxTokens} tokens are asked for; the model's context has ${contextTokens}`, {
      param: 'max_tokens',
      code: 'context_length_exceeded',
    })
  const end = tokenizer.endToken === undefined ? [] : [tokenizer.endToken]
  const guided = body.guided_choice?.map((text) => [...tokenizer.encode(text), ...end])
  const request: Omit<LocalRequest, 'prompt' | 'seed' | 'cacheKey'> = {
    maxTokens,
    temperature: body.temperature ?? 1,
    topP: body.top_p ?? 1,
    topK: Math.max(0, body.top_k ?? 0),
    minP: body.min_p ?? 0,
    repetitionPenalty: body.repetition_penalty ?? 1,
    stopTokens: body.stop_token_ids ?? [],
    stopTexts: [body.stop ?? []].flat().filter((text) => text !== ''),
    choices: body.choice_token_ids ?? guided,
    topLogprobs,
  }
  const seed = baseSeed(body)
  return {
    requests: prompts.flatMap((prompt, p) =>
      Array.from({ length: n }, (_, i) => ({
        ...request,
        prompt,
        seed: choiceSeed(seed, p * n + i),
        // Further choices take copies of what the first has computed.
        cacheKey: i === 0 ? (body.prompt_cache_key ?? undefined) : undefined,
      })),
    ),
    stream: body.stream ?? false,
    usageInStream: body.stream_options?.include_usage ?? false,
    logprobs,
    tokenIds: body.return_token_ids ?? false,
  }
}

function baseSeed({ seed, seed_words }: ChatBody | CompletionBody): Seed {
  if (seed_words) return seed_words
  if (seed != null) return seed < 0 ? seedOf(-seed, 'negative') : seedOf(seed)
  const random = randomBytes(8)
  return [random.readUInt32LE(0), random.readUInt32LE(4)]
}

/** The first choice has the seed itself, so that one asked over HTTP equals one asked in the process. */
function choiceSeed(seed: Seed, index: number): Seed {
  return index === 0 ? seed : seedOf(seed, 'choice', index)
}
