/** Requests and answers of the port in the form of the OpenAI API, with the fields that vLLM and `rl serve` add. */
import { z } from 'zod'
import { firstIssue, safeParse } from '../../safe-parse.ts'
import { byName } from '../names.ts'
import type { ChatMessage, GenerateRequest, Generation, ImageRef } from '../port.ts'
import type { ModelOptions } from '../provider.ts'
import { BadAnswer, refusalIn } from './faults.ts'
import { isSameModel } from './model-name.ts'

/** Fields that only make an answer richer or cheaper. If a server refuses one, later requests leave it out. */
export const OPTIONAL_FIELDS = [
  'return_token_ids',
  'seed_words',
  'prompt_cache_key',
  'logprobs',
  'seed',
  'top_k',
  'min_p',
  'repetition_penalty',
  'presence_penalty',
  'frequency_penalty',
  'top_p',
  'temperature',
] as const

/**
 * Some optional fields are left out only if they have this neutral value. Another value was asked for, and its absence would change the
 * answers.
 */
export const NEUTRAL: Readonly<Record<string, number>> = { top_p: 1, temperature: 1 }

export type Wire = { readonly path: string; readonly body: Readonly<Record<string, unknown>> }

export type WireOptions = Pick<ModelOptions, 'extraBody' | 'template' | 'reasoningEffort' | 'sendSeed'> & {
  /** Optional fields that the server refused. */
  readonly without: ReadonlySet<string>
  /** Hosted reasoning models take only `max_completion_tokens`. */
  readonly lengthField: 'max_tokens' | 'max_completion_tokens'
  /** Returns an image's data URL. */
  readonly urlOf: (image: ImageRef) => string
}

export function toWire(
  model: string,
  request: GenerateRequest,
  { without, lengthField, urlOf, extraBody, template, reasoningEffort, sendSeed = true }: WireOptions,
): Wire {
  const { prompt, seed, topP, stopTexts, stopTokens, choices, cacheKey } = request
  const chat = 'messages' in prompt
  const variables = chat ? { ...template, ...prompt.template } : {}
  const body: Record<string, unknown> = {
    model,
    ...(chat
      ? {
          messages: prompt.messages.map((message) => wireMessage(message, urlOf)),
          ...(Object.keys(variables).length > 0 ? { chat_template_kwargs: variables } : {}),
          ...(reasoningEffort ? { reasoning_effort: reasoningEffort } : {}),
          ...(prompt.tools
            ? { tools: prompt.tools.map((tool) => ({ type: 'function', function: tool })) }
            : {}),
        }
      : { prompt: 'text' in prompt ? prompt.text : Array.from(prompt.tokens) }),
    [chat ? lengthField : 'max_tokens']: request.maxTokens,
    temperature: request.temperature,
    // Neutral values are sent too. Servers take absent ones from the model's generation_config.json, and then the log-probs are not those
    // of the sampling (vLLM with Qwen2.5-Instruct: repetition_penalty 1.1).
    top_p: topP ?? 1,
    top_k: request.topK || -1,
    min_p: request.minP ?? 0,
    repetition_penalty: request.repetitionPenalty ?? 1,
    presence_penalty: 0,
    frequency_penalty: 0,
    ...(stopTexts && stopTexts.length > 0 ? { stop: stopTexts } : {}),
    ...(stopTokens && stopTokens.length > 0 ? { stop_token_ids: stopTokens } : {}),
    ...(choices ? { choice_token_ids: choices } : {}),
    ...(cacheKey === undefined ? {} : { prompt_cache_key: cacheKey }),
    // Servers take signed 64 bits at best and 31 bits at worst. `rl serve` takes the whole seed.
    ...(sendSeed ? { seed: seed[0] >>> 1, seed_words: seed } : {}),
    logprobs: chat ? true : 0,
    return_token_ids: true,
  }
  for (const field of without) if (!(field in NEUTRAL) || body[field] === NEUTRAL[field]) delete body[field]
  return { path: chat ? '/chat/completions' : '/completions', body: { ...body, ...extraBody } }
}

function wireMessage(
  { role, content, toolCalls, toolCallId }: ChatMessage,
  urlOf: (image: ImageRef) => string,
): object {
  const calls = toolCalls?.map(({ id, name, arguments: values }) => ({
    id,
    type: 'function',
    function: { name, arguments: JSON.stringify(values) },
  }))
  const told = {
    role,
    ...(calls ? { tool_calls: calls } : {}),
    ...(toolCallId === undefined ? {} : { tool_call_id: toolCallId }),
  }
  if (typeof content === 'string') return { ...told, content }
  return {
    ...told,
    content: content.map((part) =>
      part.type === 'text' ? part : { type: 'image_url', image_url: { url: urlOf(part.image) } },
    ),
  }
}

/**
 * A field that only makes an answer richer counts as missing if it is invalid: the answer itself is there. An empty list also counts as
 * missing.
 */
export const wireIds = z
  .array(z.int().nonnegative().max(0x7fffffff))
  .nullish()
  .catch(null)
  .transform((list) => (list?.length ? list : null))
/** Ours: the tokens that were allowed at the place of each token. */
export const wireAllowed = z
  .array(z.array(z.int().nonnegative().max(0x7fffffff)))
  .nullish()
  .catch(null)
/** vLLM writes -9999 for minus infinity. No drawn token has either. */
const logprob = z.number().gt(-9999).max(1e-3).nullable()
/** A text. Some servers write it in parts. */
export const wireContent = z.union([
  z.string(),
  z
    .array(z.object({ type: z.literal('text'), text: z.string() }))
    .transform((parts) => parts.map(({ text }) => text).join('')),
])
/** JSON arguments. Some servers write them as an object, others as a text. */
export const callArguments = z.union([
  z.string(),
  byName(z.unknown()).transform((values) => JSON.stringify(values)),
])
const choiceSchema = z.object({
  message: z
    .object({
      content: wireContent.nullish(),
      refusal: z.string().nullish().catch(null),
      reasoning_content: z.string().nullish(),
      reasoning: z.string().nullish(),
      tool_calls: z
        .array(z.object({ function: z.object({ name: z.string(), arguments: callArguments.nullish() }) }))
        .nullish(),
    })
    .optional(),
  text: z.string().optional(),
  finish_reason: z.string().nullish(),
  token_ids: wireIds,
  allowed_token_ids: wireAllowed,
  prompt_token_ids: wireIds,
  logprobs: z
    .object({
      content: z.array(z.object({ logprob, token: z.string().optional() })).nullish(),
      token_logprobs: z.array(logprob).nullish(),
    })
    .nullish()
    .catch(null),
})
const answerSchema = z.object({
  choices: z.array(z.unknown()),
  model: z.string().nullish().catch(null),
  prompt_token_ids: wireIds,
  usage: z
    .object({
      prompt_tokens: z.int().nonnegative(),
      completion_tokens: z.int().nonnegative(),
      prompt_tokens_details: z
        .object({ cached_tokens: z.int().nonnegative().nullish() })
        .nullish()
        .catch(null),
    })
    .nullish()
    .catch(null),
})

/** Returns the position of choice 0, which is the one that a call asks for. Choices are known by their `index`. */
export function placeOfChoice(choices: readonly unknown[]): number {
  const indexOf = (choice: unknown) => (choice as { readonly index?: unknown } | null)?.index ?? 0
  return Math.max(
    0,
    choices.findIndex((choice) => indexOf(choice) === 0),
  )
}

/**
 * Returns the generation of an answer. Token ids and log-probs are kept if both have one entry a token. A refused or filtered answer keeps
 * neither, and no text: its text is no action and no verdict. If the answer names another model than the request, or none, it keeps
 * neither.
 * @param model name in the request; not compared if absent
 * @throws BadAnswer, or the error in place of an answer
 */
export function fromWire(
  answer: unknown,
  { choices, model }: Pick<GenerateRequest, 'choices'> & { readonly model?: string },
): Generation {
  const refusal = refusalIn(answer)
  if (refusal) throw refusal
  const parsed = safeParse(answerSchema, answer)
  if (!parsed.success) throw badAnswer(firstIssue(parsed.error), [])
  const { usage, prompt_token_ids, model: name } = parsed.data
  if (parsed.data.choices.length === 0) throw new BadAnswer('empty-choices', 'the answer has no choices')
  const place = placeOfChoice(parsed.data.choices)
  const read = safeParse(choiceSchema, parsed.data.choices[place])
  if (!read.success) throw badAnswer(firstIssue(read.error), ['choices', place])
  const choice = read.data
  if (!choice.message && choice.text === undefined)
    throw new BadAnswer('bad-answer', 'the choice has neither a message nor a text')
  if (BROKEN_OFF.has(choice.finish_reason ?? ''))
    throw new BadAnswer('bad-answer', `the server cut the answer off: ${choice.finish_reason}`)
  const tokens = choice.token_ids ? Int32Array.from(choice.token_ids) : null
  if (choices && !choices.some((one) => same(one, tokens ?? [])))
    throw new BadAnswer('bad-answer', 'the server did not keep to the choices')
  const prompt = prompt_token_ids ?? choice.prompt_token_ids
  const told =
    choice.logprobs?.content?.map((entry) => entry.logprob) ?? choice.logprobs?.token_logprobs ?? null
  const reasoning = choice.message?.reasoning_content ?? choice.message?.reasoning
  const known = tokens && told?.length === tokens.length && told.every((value) => value !== null)
  const allowed = choice.allowed_token_ids
  const isAllowedTold =
    allowed?.length === tokens?.length &&
    allowed?.every((ids, i) => ids.length === 0 || ids.includes(tokens?.[i] ?? -1))
  const isOther = model !== undefined && !(name && isSameModel(model, name))
  const refused = choice.finish_reason === 'content_filter' || Boolean(choice.message?.refusal)
  const said = {
    text: choice.message?.content ?? choice.text ?? '',
    finish: choice.finish_reason === 'length' ? 'length' : 'stop',
    tokens,
    logprobs: known ? Float32Array.from(told as number[]) : null,
    ...(allowed && isAllowedTold ? { allowed } : {}),
    ...(choice.message?.tool_calls?.length
      ? {
          toolCalls: choice.message.tool_calls.map(({ function: { name, arguments: values } }) => ({
            name,
            arguments: values ?? '{}',
          })),
        }
      : {}),
  } as const
  return {
    ...(refused ? ({ text: '', finish: 'refused', tokens: null, logprobs: null } as const) : said),
    ...(reasoning
      ? { reasoning: { text: reasoning, tokens: reasoningTokens(choice, tokens?.length ?? 0) } }
      : {}),
    ...(isOther ? { otherModel: shown(name ?? ''), tokens: null, logprobs: null } : {}),
    promptTokens: prompt ? Int32Array.from(prompt) : null,
    usage: {
      promptTokens: usage?.prompt_tokens ?? prompt?.length ?? 0,
      cachedTokens: usage?.prompt_tokens_details?.cached_tokens ?? 0,
      completionTokens: usage?.completion_tokens ?? tokens?.length ?? 0,
    },
  }
}

type Issue = { readonly path: readonly PropertyKey[]; readonly message: string }

function badAnswer({ path, message }: Issue, before: readonly PropertyKey[]): BadAnswer {
  return new BadAnswer('bad-answer', `${[...before, ...path].join('.') || 'the answer'}: ${message}`)
}

/** Makes a name from outside safe for messages. */
function shown(name: string): string {
  return name.replaceAll(/\p{C}/gu, '?').slice(0, 200)
}

/** The answer of a model that was cut off before its first word. */
export const CUT_OFF: Generation = {
  text: '',
  finish: 'length',
  tokens: null,
  logprobs: null,
  promptTokens: null,
  usage: { promptTokens: 0, cachedTokens: 0, completionTokens: 0 },
}

/** Returns the number of tokens up to the end of thinking, by the texts of the tokens. Returns all if no end is found. */
function reasoningTokens({ logprobs }: z.infer<typeof choiceSchema>, all: number): number {
  let text = ''
  for (const [index, { token = '' }] of (logprobs?.content ?? []).entries()) {
    text = (text + token).slice(-256)
    if (text.includes(END_OF_THINKING)) return Math.min(index + 1, all)
  }
  return all
}

const END_OF_THINKING = '</think>'

/** Finish reasons of vLLM and SGLang for a generation that the model did not end. */
const BROKEN_OFF: ReadonlySet<string> = new Set(['abort', 'error'])

function same(a: readonly number[], b: ArrayLike<number>): boolean {
  return a.length === b.length && a.every((token, i) => token === b[i])
}
