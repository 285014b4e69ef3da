import { randomBytes } from 'node:crypto'
import { pythonNumber, reviveJson } from '../../../exact-json.ts'
import { isDeep } from '../../../openai-api/bodies.ts'
import { apiError } from '../../../openai-api/errors.ts'
import { type Seed, seedOf } from '../../../random.ts'
import type { ChatMessage, Prompt } from '../../port.ts'
import type { LocalGeneration, LocalModelFace, LocalRequest } from '../model.ts'
import { WrittenNumber } from '../written-numbers.ts'
import { jsonTexts } from './json-texts.ts'
import type { ChatBody, CompletionBody } from './requests.ts'
import { assertStrict, strictValues } from './strict-schema.ts'
import type { Callable } from './tools.ts'

/** The requests that a body makes: one for each choice of the answer, in order. */
export type Plan = {
  readonly requests: readonly LocalRequest[]
  readonly stream: boolean
  readonly usageInStream: boolean
  readonly logprobs: boolean
  readonly tokenIds: boolean
  /** Number of choices of each prompt in the answer. */
  readonly choices: number
  /** Number of generations sampled for each prompt. The likeliest of them are returned. Null returns all. */
  readonly bestOf: number | null
  /** Tools that may be called. Null if the request has none. */
  readonly tools: { readonly callable: Callable; readonly onlyOne: boolean } | null
}

const DEFAULT_COMPLETION_TOKENS = 16
const MOST_CHOICES = 512

export function planChat(body: ChatBody, model: LocalModelFace): Plan {
  const messages = body.messages.map(promptMessage)
  const calling = messages.findIndex(({ toolCalls }) => toolCalls)
  if (calling >= 0 && !model.tokenizer.templateReads('tool_calls'))
    throw apiError(400, "calls of tools are not supported: this model's chat template has none", {
      param: `messages.${calling}.tool_calls`,
      code: 'unsupported_parameter',
    })
  const maxTokens = body.max_completion_tokens ?? body.max_tokens
  if (body.max_tokens != null && body.max_tokens !== maxTokens)
    throw apiError(400, `max_tokens is ${body.max_tokens} and max_completion_tokens ${maxTokens}: give one`, {
      param: 'max_tokens',
      code: 'invalid_value',
    })
  const topLogprobs = body.top_logprobs ?? 0
  if (topLogprobs > 0 && !body.logprobs)
    throw apiError(400, "'top_logprobs' needs 'logprobs': true", {
      param: 'top_logprobs',
      code: 'invalid_value',
    })
  for (const name of Object.keys(body.chat_template_kwargs ?? {})) {
    const taken = OF_THE_REQUEST.includes(name)
    if (!taken && model.tokenizer.templateReads(name)) continue
    const param = `chat_template_kwargs.${name.slice(0, 100)}`
    throw apiError(
      400,
      taken
        ? `'${param}' is set by the request itself`
        : `'${param}': this model's chat template does not read it`,
      { param, code: 'unsupported_parameter' },
    )
  }
  const offered = body.tool_choice === 'none' ? [] : (body.tools ?? [])
  if (offered.length > 0 && !model.tokenizer.templateReads('tools'))
    throw apiError(400, "'tools' is not supported: this model's chat template has none", {
      param: 'tools',
      code: 'unsupported_parameter',
    })
  const names = offered.map((tool) => tool.function.name)
  const twice = names.find((name, i) => names.indexOf(name) < i)
  if (twice !== undefined)
    throw apiError(400, `two tools are called '${twice}'`, { param: 'tools', code: 'invalid_value' })
  const template =
    offered.length > 0 || body.chat_template_kwargs
      ? { ...body.chat_template_kwargs, ...(offered.length > 0 ? { tools: offered } : {}) }
      : undefined
  const format = body.response_format
  const schema = format?.type === 'json_schema' ? format.json_schema.schema : null
  if (format?.type === 'json_schema' && format.json_schema.strict) assertStrict(schema, 'response_format')
  return plan(body, model, [{ messages, template }], {
    maxTokens,
    standardTokens: model.ready.config.contextTokens,
    topLogprobs,
    logprobs: body.logprobs ?? false,
    texts: schema && jsonTexts(schema, 'response_format'),
    tools:
      offered.length === 0
        ? null
        : {
            callable: new Map(offered.map(callableTool)),
            onlyOne: body.parallel_tool_calls === false,
          },
  })
}

/** A strict tool takes arguments that its schema allows. Any other tool takes any arguments. */
function callableTool(
  { function: { name, parameters, strict } }: NonNullable<ChatBody['tools']>[number],
  index: number,
): [string, (values: unknown) => boolean] {
  const param = `tools.${index}.function.parameters`
  return [name, strict ? strictValues(parameters ?? NO_PARAMETERS, param) : () => true]
}

const NO_PARAMETERS = { type: 'object', properties: {}, required: [], additionalProperties: false }

/** Template variables that are set by other fields of the request. */
const OF_THE_REQUEST = ['messages', 'tools', 'add_generation_prompt']

function promptMessage(
  { role, content = '', name, tool_calls, tool_call_id }: ChatBody['messages'][number],
  index: number,
): ChatMessage {
  const toolCalls = tool_calls?.map(({ id, function: { name, arguments: text } }, i) => {
    const values = objectOf(text || '{}')
    if (values === null)
      throw apiError(400, `messages.${index}.tool_calls.${i}.function.arguments is no JSON object`, {
        param: `messages.${index}.tool_calls`,
        code: 'invalid_value',
      })
    return { ...(id == null ? {} : { id }), name, arguments: values }
  })
  return {
    role: role === 'developer' ? ('system' as const) : role,
    content,
    ...(toolCalls && toolCalls.length > 0 ? { toolCalls } : {}),
    ...(tool_call_id == null ? {} : { toolCallId: tool_call_id }),
    ...(name == null ? {} : { toolName: name }),
  }
}

/** Keeps the text of numbers that Python would write in another way than JavaScript. So the prompt equals that of transformers. */
function parseWritten(text: string): unknown {
  return reviveJson(text, (value, source) => {
    if (typeof value !== 'number') return value
    if (source.length > MOST_DIGITS) throw new SyntaxError('a number is too long')
    return pythonNumber(source) === String(value) ? value : new WrittenNumber(source)
  })
}

/** Most digits of a number that Python reads. */
const MOST_DIGITS = 4_300

function objectOf(text: string): Record<string, unknown> | null {
  try {
    const value = parseWritten(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value) && !isDeep(value)
      ? (value as Record<string, unknown>)
      : null
  } catch {
    return null
  }
}

export function planCompletion(body: CompletionBody, model: LocalModelFace): Plan {
  if (body.chat_template_kwargs)
    throw apiError(400, "'chat_template_kwargs' belongs to chats", { param: 'chat_template_kwargs' })
  return plan(body, model, promptsOf(body.prompt), {
    maxTokens: body.max_tokens,
    standardTokens: DEFAULT_COMPLETION_TOKENS,
    topLogprobs: body.logprobs ?? 0,
    logprobs: body.logprobs != null,
    texts: null,
    tools: null,
  })
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
    standardTokens,
    topLogprobs,
    logprobs,
    texts,
    tools,
  }: Pick<Plan, 'logprobs' | 'tools'> & {
    /** The requested number, which must fit behind the prompt. Without one, at most `standardTokens` that fit. */
    readonly maxTokens: number | null | undefined
    readonly standardTokens: number
    readonly topLogprobs: number
    /** All allowed answers. Null if any text is allowed. */
    readonly texts: readonly string[] | null
  },
): Plan {
  const given = body.n ?? 1
  const n = Math.max(given, body.best_of ?? given)
  if (body.best_of != null && body.best_of < given)
    throw apiError(400, `best_of is ${body.best_of}, less than n = ${given}`, { param: 'best_of' })
  if (n > given && body.stream)
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
  if (tools !== null && (texts !== null || body.guided_json))
    throw apiError(400, "'tools' beside a schema of the answer: no tool could be called", {
      param: 'tools',
      code: 'unsupported_parameter',
    })
  if (prompts.length * n > MOST_CHOICES)
    throw apiError(400, `${prompts.length} prompts with n = ${n}: at most ${MOST_CHOICES} choices`, {
      param: 'n',
    })
  const { contextTokens, vocabSize } = ready.config
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
  const end = tokenizer.endToken === undefined ? [] : [tokenizer.endToken]
  const said = texts ?? (body.guided_json ? jsonTexts(body.guided_json, 'guided_json') : body.guided_choice)
  const guided = said?.map((text) => {
    const tokens = tokenizer.encode(text)
    // The tokenizer changes the text by normal forms, special tokens or words outside of its vocabulary. The answer would be another one.
    if (tokenizer.decode(tokens) !== text)
      throw apiError(400, `this model's tokenizer does not write ${JSON.stringify(text.slice(0, 100))}`, {
        param: texts ? 'response_format' : body.guided_json ? 'guided_json' : 'guided_choice',
        code: 'unsupported_value',
      })
    return [...tokens, ...end]
  })
  const request: Omit<LocalRequest, 'prompt' | 'seed' | 'cacheKey'> = {
    maxTokens: maxTokens ?? standardTokens,
    roomFor: maxTokens ?? 1,
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
        // Further choices copy the cache of the first.
        cacheKey: i === 0 ? (body.prompt_cache_key ?? undefined) : undefined,
      })),
    ),
    stream: body.stream ?? false,
    usageInStream: body.stream_options?.include_usage ?? false,
    logprobs,
    tokenIds: body.return_token_ids ?? false,
    choices: given,
    bestOf: n > given ? n : null,
    tools,
  }
}

/** Returns the generations for the answer: for each prompt those with the highest mean log-prob. */
export function bestOf(
  generations: readonly LocalGeneration[],
  { bestOf: of, choices }: Plan,
): readonly LocalGeneration[] {
  if (of === null) return generations
  const given: LocalGeneration[] = []
  for (let at = 0; at < generations.length; at += of) {
    const ranked = generations
      .slice(at, at + of)
      .map((generation) => ({ generation, score: meanLogprob(generation) }))
      .sort((a, b) => b.score - a.score)
    given.push(...ranked.slice(0, choices).map(({ generation }) => generation))
  }
  return given
}

function meanLogprob({ logprobs }: LocalGeneration): number {
  return logprobs.reduce((sum, value) => sum + value, 0) / Math.max(1, logprobs.length)
}

function baseSeed({ seed, seed_words }: ChatBody | CompletionBody): Seed {
  if (seed_words) return seed_words
  if (seed != null) return seed < 0 ? seedOf(-seed, 'negative') : seedOf(seed)
  const random = randomBytes(8)
  return [random.readUInt32LE(0), random.readUInt32LE(4)]
}

/** The first choice has the seed itself. So a request over HTTP equals one in the process. */
function choiceSeed(seed: Seed, index: number): Seed {
  return index === 0 ? seed : seedOf(seed, 'choice', index)
}
