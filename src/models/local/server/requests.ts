/** Request bodies of clients: the fields of the OpenAI API, and vLLM's names for additions. */
import { z } from 'zod'
import { dropNulls } from '../../../openai-api/bodies.ts'
import { apiError } from '../../../openai-api/errors.ts'
import { firstIssue, safeParse } from '../../../safe-parse.ts'
import { byName } from '../../names.ts'

const tokens = z.array(z.int().nonnegative())
const text = z.string()
const parts = z.array(z.looseObject({ type: text, text: text.optional() })).transform((list, context) => {
  // Without `continue` the union would report only that its input is invalid.
  const refuse = (message: string) => context.addIssue({ code: 'custom', message, continue: true })
  const other = list.find((part) => part.type !== 'text' || part.text === undefined)
  if (other) refuse(`a part of type '${other.type.slice(0, 40)}': this model reads text alone`)
  const [unknown] = list.flatMap(({ type: _, text: __, ...rest }) =>
    Object.entries(rest).flatMap(([name, value]) => (value === null ? [] : [name])),
  )
  if (!other && unknown !== undefined) refuse(`'${unknown.slice(0, 40)}' of a part of text is not supported`)
  return list.map((part) => part.text ?? '').join('')
})
const toolCalls = z
  .array(
    z.strictObject({
      id: text.nullish(),
      index: z.int().nullish(),
      type: z.literal('function').nullish(),
      function: z
        .strictObject({
          name: text.min(1),
          arguments: text.nullish(),
          parsed_arguments: z.unknown().optional(),
        })
        .transform(({ parsed_arguments: _, ...called }) => called),
    }),
  )
  .nullish()
const message = z
  .strictObject({
    role: z.enum(['system', 'developer', 'user', 'assistant', 'tool']),
    /** Some clients omit it in messages that have only calls. */
    content: z.union([text, parts, z.null().transform(() => '')]).optional(),
    name: z.string().nullish(),
    refusal: z.null().optional(),
    audio: z.null().optional(),
    annotations: z.array(z.never()).nullish(),
    function_call: z.null().optional(),
    tool_calls: toolCalls,
    tool_call_id: text.nullish(),
    /** OpenAI's clients add what they parsed of an answer, also as `parsed_arguments` of calls. */
    parsed: z.unknown().optional(),
  })
  .transform(({ parsed: _, ...said }) => said)
  .superRefine(({ role, name, content, tool_calls, tool_call_id }, context) => {
    const refuse = (path: string, message: string) =>
      context.addIssue({ code: 'custom', path: [path], message })
    if (content === undefined && !(role === 'assistant' && tool_calls?.length))
      refuse('content', 'it is missing')
    if (name != null && role !== 'tool') refuse('name', 'names of speakers are not passed to the model')
    if (tool_calls?.length && role !== 'assistant') refuse('tool_calls', 'only the assistant makes calls')
    if (tool_call_id != null && role !== 'tool') refuse('tool_call_id', 'only tools return results of calls')
  })

const tool = z.strictObject({
  type: z.literal('function'),
  function: z.strictObject({
    name: text.regex(/^[\w.-]{1,64}$/),
    description: text.nullish(),
    parameters: byName(z.unknown()).nullish(),
    strict: z.boolean().nullish(),
  }),
})

/** One JSON text under a schema. `json_object` allows endless texts and is refused. */
const responseFormat = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('text') }),
  z.strictObject({
    type: z.literal('json_schema'),
    json_schema: z.strictObject({
      name: text,
      description: text.nullish(),
      schema: byName(z.unknown()),
      strict: z.boolean().nullish(),
    }),
  }),
])

const common = {
  model: text,
  temperature: z.number().min(0).max(100).nullish(),
  top_p: z.number().gt(0).max(1).nullish(),
  top_k: z.int().min(-1).nullish(),
  min_p: z.number().min(0).max(1).nullish(),
  repetition_penalty: z.number().min(0.01).max(10).nullish(),
  n: z.int().min(1).max(128).nullish(),
  /** Number of generations to sample. The `n` likeliest by mean log-prob are returned. */
  best_of: z.int().min(1).max(128).nullish(),
  max_tokens: z.int().min(0).nullish(),
  stop: z.union([text, z.array(text).max(16)]).nullish(),
  stop_token_ids: tokens.nullish(),
  seed: z.int().nullish(),
  /** Further variables of the chat template, as in vLLM and SGLang. */
  chat_template_kwargs: byName(z.unknown()).nullish(),
  stream: z.boolean().nullish(),
  stream_options: z
    .strictObject({ include_usage: z.boolean().nullish(), include_obfuscation: z.literal(false).nullish() })
    .nullish(),
  /** Requests with the same key share a growing prefix, whose cache is kept. */
  prompt_cache_key: text.max(512).nullish(),
  /** vLLM: the response has the token ids of prompt and completion. */
  return_token_ids: z.boolean().nullish(),
  /** As in vLLM: the completion is one of these texts. */
  guided_choice: z.array(text.min(1)).min(1).max(4096).nullish(),
  /** vLLM: the completion is JSON under this schema. */
  guided_json: byName(z.unknown()).nullish(),
  /** Ours: the completion is one of these token sequences. Log-probs are renormalised over the allowed tokens. */
  choice_token_ids: z.array(tokens.min(1)).min(1).max(4096).nullish(),
  /** Ours: 64 bits of seed as two unsigned words. They override `seed`, which is for servers that do not know them. */
  seed_words: z.tuple([z.uint32(), z.uint32()]).nullish(),
}

/** Accepted without effect, refused if they would change the result. Any other field is refused as unknown. */
const unsupported = {
  functions: z.array(z.unknown()).max(0).nullish(),
  tool_choice: z.enum(['none', 'auto']).nullish(),
  logit_bias: byName(z.never()).nullish(),
  frequency_penalty: z.literal(0).nullish(),
  presence_penalty: z.literal(0).nullish(),
  suffix: z.literal('').nullish(),
  echo: z.literal(false).nullish(),
  min_tokens: z.literal(0).nullish(),
  ignore_eos: z.literal(false).nullish(),
  /** vLLM returns log-probs of the prompt even for 0. */
  prompt_logprobs: z.null().optional(),
  skip_special_tokens: z.literal(true).nullish(),
  add_generation_prompt: z.literal(true).nullish(),
  continue_final_message: z.literal(false).nullish(),
  use_beam_search: z.literal(false).nullish(),
  bad_words: z.array(z.unknown()).max(0).nullish(),
  modalities: z.tuple([z.literal('text')]).nullish(),
  store: z.literal(false).nullish(),
}

/** Fields about the client. They have no effect. */
const notes = {
  user: text.nullish(),
  metadata: byName(z.unknown()).nullish(),
  safety_identifier: text.nullish(),
  service_tier: text.nullish(),
}

const chatSchema = z.strictObject({
  ...common,
  ...unsupported,
  ...notes,
  messages: z.array(message).min(1),
  max_completion_tokens: z.int().min(0).nullish(),
  logprobs: z.boolean().nullish(),
  top_logprobs: z.int().min(0).max(20).nullish(),
  tools: z.array(tool).max(128).nullish(),
  tool_choice: z
    .union([
      z.enum(['none', 'auto', 'required']),
      z.strictObject({ type: z.literal('function'), function: z.strictObject({ name: text }) }),
    ])
    .nullish(),
  parallel_tool_calls: z.boolean().nullish(),
  response_format: responseFormat.nullish(),
  /** Ours: the answer. The model draws nothing, and tells its log-probs. One of finish_reason `length` was cut, and has no end. */
  given_answer: z
    .object({ content: text.nullish(), tool_calls: toolCalls, finish_reason: text.nullish() })
    .nullish(),
})

const completionSchema = z.strictObject({
  ...common,
  ...unsupported,
  ...notes,
  prompt: z.union([
    text,
    tokens.min(1),
    z.array(text).min(1).max(256),
    z.array(tokens.min(1)).min(1).max(256),
  ]),
  logprobs: z.int().min(0).max(20).nullish(),
  tools: z.array(z.unknown()).max(0).nullish(),
  response_format: z.strictObject({ type: z.literal('text') }).nullish(),
})

/** vLLM's bodies for loading weights at run time. */
const loadSchema = z.strictObject({ lora_name: text.min(1).max(256), lora_path: text.min(1).max(4096) })
const unloadSchema = z.strictObject({ lora_name: text.min(1).max(256) })

export type ChatBody = z.infer<typeof chatSchema>
export type CompletionBody = z.infer<typeof completionSchema>

export const parseChat = (json: unknown): ChatBody => parse(chatSchema, json)
export const parseCompletion = (json: unknown): CompletionBody => parse(completionSchema, json)

export const parseLoad = (json: unknown) => parse(loadSchema, json)
export const parseUnload = (json: unknown) => parse(unloadSchema, json)

function parse<T>(schema: z.ZodType<T>, json: unknown): T {
  let parsed = safeParse(schema, json)
  while (!parsed.success && dropNulls(json, parsed.error.issues)) parsed = safeParse(schema, json)
  if (parsed.success) return parsed.data
  const issue = firstIssue(parsed.error)
  if (issue.code === 'unrecognized_keys') {
    const unknown = [...issue.path, issue.keys[0]].join('.')
    throw apiError(400, `'${unknown}' is not supported by this server`, {
      param: unknown,
      code: 'unsupported_parameter',
    })
  }
  const param = issue.path.join('.')
  const format = issue.path[0] === 'response_format' && issue.path.length <= 2
  const known = format || Object.hasOwn(unsupported, String(issue.path[0]))
  throw apiError(400, known ? notDone(param, json, issue) : `${param || 'body'}: ${issue.message}`, {
    param: format ? 'response_format' : param || null,
    code: known ? 'unsupported_parameter' : 'invalid_value',
  })
}

/** Returns which value is not implemented, and which are. A field that allows other values is not unknown. */
function notDone(param: string, json: unknown, issue: z.core.$ZodIssue): string {
  const value = issue.path.reduce<unknown>((inner, key) => (inner as Fields | undefined)?.[key], json)
  const shown = JSON.stringify(value)?.slice(0, 100) ?? 'missing'
  const takes =
    issue.path[0] === 'response_format' ? FORMATS : issue.code === 'invalid_value' ? issue.values : null
  const others = takes ? `: this server takes ${takes.map((one) => JSON.stringify(one)).join(' and ')}` : ''
  return `'${param}' of ${shown} is not supported${others || ' by this server'}`
}

const FORMATS = [{ type: 'text' }, { type: 'json_schema', json_schema: { name: '...', schema: {} } }]

type Fields = Record<PropertyKey, unknown>
