/** What clients send: the OpenAI API's fields, and vLLM's names for what it adds. */
import { z } from 'zod'
import { apiError } from './errors.ts'

const tokens = z.array(z.int().nonnegative())
const text = z.string()
const parts = z
  .array(z.object({ type: z.literal('text'), text }))
  .transform((list) => list.map((part) => part.text).join(''))
const message = z.object({
  role: z.enum(['system', 'developer', 'user', 'assistant', 'tool']),
  content: z.union([text, parts, z.null().transform(() => '')]),
})

const common = {
  model: text,
  temperature: z.number().min(0).max(100).nullish(),
  top_p: z.number().gt(0).max(1).nullish(),
  n: z.int().min(1).max(128).nullish(),
  max_tokens: z.int().min(0).nullish(),
  stop: z.union([text, z.array(text).max(16)]).nullish(),
  stop_token_ids: tokens.nullish(),
  seed: z.int().nullish(),
  stream: z.boolean().nullish(),
  stream_options: z.object({ include_usage: z.boolean().nullish() }).nullish(),
  /** Requests with the same key share a growing prefix whose cache is kept. */
  prompt_cache_key: text.max(512).nullish(),
  /** vLLM: token ids of prompt and completion stand in the response. */
  return_token_ids: z.boolean().nullish(),
  /** vLLM: the completion is one of these texts. */
  guided_choice: z.array(text.min(1)).min(1).max(4096).nullish(),
  /** Ours: the completion is one of these token sequences; log-probs are renormalised over what they allow. */
  choice_token_ids: z.array(tokens.min(1)).min(1).max(4096).nullish(),
  /** Ours: 64 bits of seed as two unsigned words, instead of `seed`. */
  seed_words: z.tuple([z.uint32(), z.uint32()]).nullish(),
}

/** Accepted where they ask for nothing, refused where they would change the result. */
const unsupported = {
  tools: z.array(z.unknown()).max(0).nullish(),
  functions: z.array(z.unknown()).max(0).nullish(),
  response_format: z.object({ type: z.literal('text') }).nullish(),
  logit_bias: z.record(z.string(), z.never()).nullish(),
  frequency_penalty: z.literal(0).nullish(),
  presence_penalty: z.literal(0).nullish(),
  suffix: z.literal('').nullish(),
  echo: z.literal(false).nullish(),
}

const chatSchema = z.object({
  ...common,
  ...unsupported,
  messages: z.array(message).min(1),
  max_completion_tokens: z.int().min(0).nullish(),
  logprobs: z.boolean().nullish(),
  top_logprobs: z.int().min(0).max(20).nullish(),
})

const completionSchema = z.object({
  ...common,
  ...unsupported,
  prompt: z.union([
    text,
    tokens.min(1),
    z.array(text).min(1).max(256),
    z.array(tokens.min(1)).min(1).max(256),
  ]),
  logprobs: z.int().min(0).max(20).nullish(),
})

/** vLLM's bodies for weights at run time. */
const loadSchema = z.object({ lora_name: text.min(1).max(256), lora_path: text.min(1).max(4096) })
const unloadSchema = z.object({ lora_name: text.min(1).max(256) })

export type ChatBody = z.infer<typeof chatSchema>
export type CompletionBody = z.infer<typeof completionSchema>

export const parseChat = (json: unknown): ChatBody => parse(chatSchema, json)
export const parseCompletion = (json: unknown): CompletionBody => parse(completionSchema, json)

export const parseLoad = (json: unknown) => parse(loadSchema, json)
export const parseUnload = (json: unknown) => parse(unloadSchema, json)

function parse<T>(schema: z.ZodType<T>, json: unknown): T {
  const parsed = schema.safeParse(json)
  if (parsed.success) return parsed.data
  const [issue] = parsed.error.issues
  const param = issue.path.join('.')
  const known = Object.hasOwn(unsupported, String(issue.path[0]))
  throw apiError(
    400,
    known ? `'${param}' is not supported by this server` : `${param || 'body'}: ${issue.message}`,
    { param: param || null, code: known ? 'unsupported_parameter' : 'invalid_value' },
  )
}
