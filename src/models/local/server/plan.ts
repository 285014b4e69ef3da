import { randomBytes } from 'node:crypto'
import { pythonNumber, reviveJson } from '../../../exact-json.ts'
import { isDeep } from '../../../openai-api/bodies.ts'
import { apiError } from '../../../openai-api/errors.ts'
import { type Seed, seedOf } from '../../../random.ts'
import type { Prompt, TextMessage } from '../../port.ts'
import type { LocalGeneration, LocalModelFace, LocalRequest } from '../model.ts'
import type { Tokenizer } from '../tokenizer.ts'
import { WrittenNumber } from '../written-numbers.ts'
import { callText, callTexts } from './call-texts.ts'
import { checkPlan } from './check-plan.ts'
import { jsonTexts } from './json-texts.ts'
import { openChoice } from './open-texts.ts'
import type { ChatBody, CompletionBody } from './requests.ts'
import { assertStrict, strictValues } from './strict-schema.ts'
import { withToldTools } from './told-tools.ts'
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

/** An answer of which the model is asked only how likely it is. */
type GivenAnswer = {
  readonly text: string
  /** Whether the answer was cut off at a number of tokens, so that no end token follows. */
  readonly cut: boolean
}

const DEFAULT_COMPLETION_TOKENS = 16

export function planChat(body: ChatBody, model: LocalModelFace): Plan {
  const given = body.messages.map(promptMessage)
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
  const names = offered.map((tool) => tool.function.name)
  const twice = names.find((name, i) => names.indexOf(name) < i)
  if (twice !== undefined)
    throw apiError(400, `two tools are called '${twice}'`, { param: 'tools', code: 'invalid_value' })
  const { templateReads } = model.tokenizer
  const readsTools = templateReads('tools')
  const messages =
    readsTools && templateReads('tool_calls') ? given : withToldTools(given, readsTools ? [] : offered)
  const tools = readsTools && offered.length > 0 ? { tools: offered } : {}
  const variables = { ...body.chat_template_kwargs, ...tools }
  const template = Object.keys(variables).length > 0 ? variables : undefined
  const format = body.response_format
  const schema = format?.type === 'json_schema' ? format.json_schema.schema : null
  if (format?.type === 'json_schema' && format.json_schema.strict) assertStrict(schema, 'response_format')
  const calls = callsToChoose(body, offered, schema !== null)
  const answers = schema !== null && !mustCall(body) ? jsonTexts(schema, 'response_format') : null
  const written = givenIn(body)
  return plan(body, model, [{ messages, template }], {
    maxTokens,
    standardTokens: model.ready.config.contextTokens,
    topLogprobs,
    logprobs: body.logprobs ?? false,
    texts: calls || answers ? [...(calls ?? []), ...(answers ?? [])] : null,
    tools:
      offered.length === 0
        ? null
        : {
            callable: new Map(offered.map(callableTool)),
            onlyOne: body.parallel_tool_calls === false,
          },
    given: written,
  })
}

/** Returns the given answer as the model would write it, or null if the model is to answer. */
function givenIn({
  given_answer: given,
  stream,
  n,
  tool_choice: choice,
  ...body
}: ChatBody): GivenAnswer | null {
  if (given == null) return null
  const limits = [
    ...[body.response_format, body.guided_json, body.guided_choice, body.choice_token_ids],
    ...[body.stop, body.stop_token_ids],
  ]
  if (
    stream ||
    (n ?? 1) > 1 ||
    body.best_of != null ||
    typeof choice === 'object' ||
    choice === 'required' ||
    limits.some((one) => one != null)
  )
    throw apiError(
      400,
      "'given_answer' is one whole answer: it goes with no stream, 'n' or limit of the answer",
      {
        param: 'given_answer',
        code: 'unsupported_parameter',
      },
    )
  const calls = (given.tool_calls ?? []).map(({ function: { name, arguments: text } }, i) =>
    callText(name, argumentsIn(text, 'given_answer.tool_calls', i)),
  )
  const text = [given.content ?? '', ...calls].filter((part) => part !== '').join('\n')
  if (given.content == null && calls.length === 0)
    throw apiError(400, "'given_answer' has neither a content nor a call", {
      param: 'given_answer',
      code: 'invalid_value',
    })
  return { text, cut: given.finish_reason === 'length' }
}

function mustCall({ tool_choice: choice }: ChatBody): boolean {
  return choice != null && choice !== 'none' && choice !== 'auto'
}

/** Returns the calls of which the model writes one, or an answer if it need not call. Returns null if any text is allowed. */
function callsToChoose(
  body: ChatBody,
  offered: NonNullable<ChatBody['tools']>,
  hasSchema: boolean,
): string[] | null {
  const { tool_choice: choice } = body
  const named = typeof choice === 'string' ? undefined : choice?.function.name
  const chosen = offered
    .map(({ function: { name, parameters } }, i) => ({
      name,
      parameters: parameters ?? NO_PARAMETERS,
      param: `tools.${i}.function.parameters`,
    }))
    .filter(({ name }) => named === undefined || name === named)
  if (mustCall(body) && chosen.length === 0)
    throw apiError(400, named ? `there is no tool '${named.slice(0, 100)}'` : "'required' needs tools", {
      param: 'tool_choice',
      code: 'invalid_value',
    })
  return chosen.length > 0 && (mustCall(body) || hasSchema) ? callTexts(chosen) : null
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
): TextMessage {
  const toolCalls = tool_calls?.map(({ id, function: { name, arguments: text } }, i) => ({
    ...(id == null ? {} : { id }),
    name,
    arguments: argumentsIn(text, `messages.${index}.tool_calls`, i),
  }))
  return {
    role: role === 'developer' ? ('system' as const) : role,
    content,
    ...(toolCalls && toolCalls.length > 0 ? { toolCalls } : {}),
    ...(tool_call_id == null ? {} : { toolCallId: tool_call_id }),
    ...(name == null ? {} : { toolName: name }),
  }
}

function argumentsIn(text: string | null | undefined, param: string, call: number): Record<string, unknown> {
  const values = objectOf(text || '{}')
  if (values !== null) return values
  throw apiError(400, `${param}.${call}.function.arguments is no JSON object`, {
    param,
    code: 'invalid_value',
  })
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
    given: null,
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

type Asked = Pick<Plan, 'logprobs' | 'tools'> & {
  /** The answer, if the caller gives it. */
  readonly given: GivenAnswer | null
  /** The requested number, which must fit behind the prompt. Without one, at most `standardTokens` that fit. */
  readonly maxTokens: number | null | undefined
  readonly standardTokens: number
  readonly topLogprobs: number
  /** All allowed answers. Null if any text is allowed. */
  readonly texts: readonly string[] | null
}

function plan(
  body: ChatBody | CompletionBody,
  { tokenizer, ready }: LocalModelFace,
  prompts: readonly Prompt[],
  { maxTokens, standardTokens, topLogprobs, logprobs, texts, tools, given: written }: Asked,
): Plan {
  const wanted = body.n ?? 1
  const n = Math.max(wanted, body.best_of ?? wanted)
  checkPlan(body, ready.config, { n, wanted, prompts: prompts.length, maxTokens, texts, tools })
  const allowed = allowedAnswers(body, tokenizer, texts)
  const given = written && [
    ...tokensOf(tokenizer, written.text, 'given_answer'),
    ...(written.cut ? [] : endOf(tokenizer)),
  ]
  const most = given?.length ?? maxTokens
  const request: Omit<LocalRequest, 'prompt' | 'seed' | 'cacheKey'> = {
    maxTokens: most ?? standardTokens,
    roomFor: most ?? 1,
    temperature: body.temperature ?? 1,
    topP: body.top_p ?? 1,
    topK: Math.max(0, body.top_k ?? 0),
    minP: body.min_p ?? 0,
    repetitionPenalty: body.repetition_penalty ?? 1,
    stopTokens: body.stop_token_ids ?? [],
    stopTexts: [body.stop ?? []].flat().filter((text) => text !== ''),
    choices: body.choice_token_ids ?? allowed,
    ...(given ? { given } : {}),
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
    choices: wanted,
    bestOf: n > wanted ? n : null,
    tools,
  }
}

/**
 * Returns the tokens of all allowed answers, or undefined if any text is allowed.
 * @param texts allowed by the response format, or null
 * @throws ApiError 400 for a text that the tokenizer does not write
 */
function allowedAnswers(
  body: ChatBody | CompletionBody,
  tokenizer: Tokenizer,
  texts: readonly string[] | null,
): number[][] | undefined {
  const said = texts ?? (body.guided_json ? jsonTexts(body.guided_json, 'guided_json') : body.guided_choice)
  const param = texts ? 'response_format' : body.guided_json ? 'guided_json' : 'guided_choice'
  const written = (text: string) => tokensOf(tokenizer, text, param)
  const isWritten = body.guided_choice != null && said === body.guided_choice
  return said?.map((text) => [
    ...(isWritten ? written(text) : openChoice(text, written)),
    ...endOf(tokenizer),
  ])
}

function endOf({ endToken }: Tokenizer): number[] {
  return endToken === undefined ? [] : [endToken]
}

/** @throws ApiError 400 if normal forms, special tokens or a small vocabulary change the text: the answer would be another one */
function tokensOf(tokenizer: Tokenizer, text: string, param: string): number[] {
  const tokens = tokenizer.encode(text)
  if (tokenizer.decode(tokens) !== text)
    throw apiError(400, `this model's tokenizer does not write ${JSON.stringify(text.slice(0, 100))}`, {
      param,
      code: 'unsupported_value',
    })
  return [...tokens]
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
