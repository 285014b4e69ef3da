/** An answer of the model, complete or joined from the pieces of a stream, and the part that a trajectory keeps. */
import { z } from 'zod'
import { eventReader, type ServerEvent } from '../models/openai/events.ts'
import { BadAnswer, refusalInEvent, withoutInfinities } from '../models/openai/faults.ts'
import { isSameModel } from '../models/openai/model-name.ts'
import {
  callArguments,
  fromWire,
  placeOfChoice,
  wireAllowed,
  wireContent,
  wireIds,
} from '../models/openai/wire.ts'
import type { Generation } from '../models/port.ts'
import { isDeep } from '../openai-api/bodies.ts'
import { firstIssue, safeParse } from '../safe-parse.ts'
import { callPieces } from './call-pieces.ts'

type ToolCall = {
  readonly id?: string
  readonly function: { readonly name: string; readonly arguments: string }
}

export type Answer = {
  /** The assistant's message as the model gave it: content, tool calls, reasoning and all other fields. */
  readonly message: Readonly<Record<string, unknown>>
  readonly content: string
  /** Refusal in place of an answer, if the endpoint returns it apart. Null for none. */
  readonly refusal: string | null
  readonly toolCalls: readonly ToolCall[]
  /** Reason in the endpoint's words, e.g. `stop`, `length` or `tool_calls`. */
  readonly finish: string
  /** The stop text that ended the answer, if the endpoint tells it. */
  readonly stopText: string | null
  readonly generation: Generation
}

const toolCall = z
  .object({
    id: z.string().nullish(),
    function: z.object({ name: z.string(), arguments: callArguments.nullish() }),
  })
  .transform(({ id, function: { name, arguments: values } }) => ({
    ...(id == null ? {} : { id }),
    function: { name, arguments: values ?? '{}' },
  }))
const messageSchema = z.looseObject({
  content: wireContent.nullish(),
  refusal: z.string().nullish().catch(null),
  tool_calls: z.array(toolCall).nullish(),
})
const outline = z.object({
  message: messageSchema,
  finish_reason: z.string().nullish(),
  stop_reason: z.string().nullish().catch(null),
})

/** Reads the answer in a body. Throws a SyntaxError if the body is not JSON, and errors as `readAnswer`. */
export function readBody(text: string, model?: string): Answer {
  return readAnswer(JSON.parse(withoutInfinities(text)), model)
}

/**
 * Reads an answer. Nothing is learned from the answer of another model than `model`.
 * @throws BadAnswer if the answer breaks the API; the refusal in place of an answer
 */
export function readAnswer(json: unknown, model?: string): Answer {
  const choices = choicesOf(json)
  const place = placeOfChoice(choices)
  const choice = choices[place]
  if (isDeep(choice?.message))
    throw new BadAnswer('bad-answer', `choices.${place}.message is nested too deeply`)
  const generation = fromWire(json, { model })
  const parsed = safeParse(outline, asChat(choice))
  if (!parsed.success) {
    const issue = firstIssue(parsed.error)
    throw new BadAnswer('bad-answer', `choices.${place}.${issue.path.join('.')}: ${issue.message}`)
  }
  const { message, finish_reason, stop_reason } = parsed.data
  return {
    message,
    content: message.content ?? '',
    refusal: message.refusal || null,
    toolCalls: message.tool_calls ?? [],
    finish: finish_reason ?? '',
    stopText: stop_reason ?? null,
    generation,
  }
}

type Choice = { readonly message?: unknown; readonly text?: unknown } | null | undefined

function choicesOf(json: unknown): readonly Choice[] {
  const choices: unknown = (json as { choices?: unknown } | null)?.choices
  return Array.isArray(choices) ? choices : []
}

/** Returns a text completion's choice in the form of a chat. Other choices stay unchanged. */
function asChat(choice: Choice): unknown {
  if (typeof choice?.text !== 'string') return choice
  return { ...choice, message: { role: 'assistant', content: choice.text } }
}

/** Does the same in an event of a stream. */
function asChatEvent(json: unknown): unknown {
  const choices = choicesOf(json)
  if (!choices.some((choice) => typeof choice?.text === 'string')) return json
  return { ...(json as object), choices: choices.map(asChatPiece) }
}

function asChatPiece(choice: Choice): unknown {
  if (typeof choice?.text !== 'string') return choice
  const { text, ...rest } = choice as { readonly text: string; readonly logprobs?: unknown }
  const told = safeParse(tokenLogprobs, rest.logprobs).data?.token_logprobs
  return {
    ...rest,
    delta: { content: text },
    ...(told ? { logprobs: { content: told.map((logprob) => ({ logprob })) } } : {}),
  }
}

const tokenLogprobs = z.object({ token_logprobs: z.array(z.number().nullable()) })

/** Reads a piece of a call's arguments. An empty object is no text: its text is still to come. */
const pieceOfArguments = z.union([
  z
    .object({})
    .strict()
    .transform(() => ''),
  callArguments,
])
const deltaSchema = z.looseObject({
  role: z.string().nullish(),
  content: wireContent.nullish(),
  tool_calls: z
    .array(
      z.object({
        index: z.int().min(0).max(1023).nullish(),
        id: z.string().nullish(),
        function: z.object({ name: z.string().nullish(), arguments: pieceOfArguments.nullish() }).nullish(),
      }),
    )
    .nullish(),
})
const chunkSchema = z.object({
  choices: z
    .array(
      z.object({
        index: z.int().nullish(),
        delta: deltaSchema.nullish(),
        finish_reason: z.string().nullish(),
        stop_reason: z.string().nullish().catch(null),
        logprobs: z
          .object({ content: z.array(z.unknown()).nullish() })
          .nullish()
          .catch(null),
        token_ids: wireIds,
        allowed_token_ids: wireAllowed,
        prompt_token_ids: wireIds,
      }),
    )
    .nullish(),
  model: z.string().nullish().catch(null),
  prompt_token_ids: wireIds,
  usage: z.unknown().optional(),
})

export type AnswerStream = {
  /** Takes the next bytes. Throws BadAnswer if an event is no chunk of a completion, and the error that an event reports. */
  readonly push: (bytes: Uint8Array) => void
  /** Returns whether this is an event stream: an event was read, or a comment that keeps the stream alive. */
  readonly begun: () => boolean
  /** Returns whether `[DONE]` came. No part of the answer follows it. */
  readonly over: () => boolean
  /** Returns the answer after the end of the stream. Throws BadAnswer if the end is missing. */
  readonly end: () => Answer
}

/** Joins a field of a message that comes in pieces. Some servers write null for a field in pieces of other fields. */
function joined(before: unknown, piece: unknown): unknown {
  if (piece === null && before !== undefined) return before
  if (typeof before === 'string' && typeof piece === 'string') return before + piece
  return Array.isArray(before) && Array.isArray(piece) ? [...before, ...piece] : piece
}

const DONE = '[DONE]'

/**
 * Reads server-sent events (`data: {...}` up to `data: [DONE]`) and joins them into one answer.
 * @param model name in the request; not compared if absent
 */
export function answerStream(model?: string): AnswerStream {
  const reader = eventReader()
  const calls = callPieces()
  let done = false
  let content = ''
  let said = false
  let finish: string | null = null
  let stopText: string | null = null
  let promptIds: number[] | null = null
  let usage: unknown
  const names = new Set<string>()
  const tokenIds: number[] = []
  const allowed: (readonly number[])[] = []
  const logprobs: unknown[] = []
  const others: Record<string, unknown> = {}

  function take({ type, lines }: ServerEvent): void {
    for (const text of dataOf(lines)) {
      if (done || text.trim() === '') continue
      if (text.trim() === DONE) done = true
      else takeEvent(type, text)
    }
  }

  function takeEvent(type: string, text: string): void {
    const json: unknown = type === 'error' ? errorIn(text) : JSON.parse(withoutInfinities(text))
    const refusal = refusalInEvent(json)
    if (refusal) throw refusal
    const parsed = safeParse(chunkSchema, asChatEvent(json))
    if (!parsed.success)
      throw new BadAnswer('bad-answer', 'an event of the stream is no chunk of a completion')
    const { choices, prompt_token_ids } = parsed.data
    if (parsed.data.model) names.add(parsed.data.model)
    if (prompt_token_ids) promptIds = prompt_token_ids
    if (parsed.data.usage) usage = parsed.data.usage
    for (const choice of choices ?? []) {
      if ((choice.index ?? 0) !== 0) continue
      said = true
      // vLLM reports them beside the choices or in the first choice.
      promptIds ??= choice.prompt_token_ids
      const { role: _, content: piece, tool_calls, ...more } = choice.delta ?? {}
      content += piece ?? ''
      for (const [name, value] of Object.entries(more)) others[name] = joined(others[name], value)
      for (const call of tool_calls ?? []) calls.add(call)
      if (choice.finish_reason) finish = choice.finish_reason
      if (choice.stop_reason) stopText = choice.stop_reason
      for (const id of choice.token_ids ?? []) tokenIds.push(id)
      for (const ids of choice.allowed_token_ids ?? []) allowed.push(ids)
      for (const one of choice.logprobs?.content ?? []) logprobs.push(one)
    }
  }

  return {
    begun: reader.begun,
    over: () => done,
    push(bytes) {
      for (const event of reader.push(bytes)) take(event)
    },
    end() {
      for (const event of reader.end()) take(event)
      if (!said) throw new BadAnswer('empty-choices', 'the stream has no choices')
      if (!done && finish === null) throw new BadAnswer('bad-answer', 'the stream ended before its end')
      const tool_calls = calls.calls().map(({ id, name, arguments: text }) => ({
        ...(id === undefined ? {} : { id }),
        type: 'function',
        function: { name, arguments: text },
      }))
      const whole = {
        choices: [
          {
            message: {
              role: 'assistant',
              content: content === '' && tool_calls.length > 0 ? null : content,
              ...others,
              ...(tool_calls.length > 0 ? { tool_calls } : {}),
            },
            finish_reason: finish,
            stop_reason: stopText,
            ...(logprobs.length > 0 ? { logprobs: { content: logprobs } } : {}),
            ...(isWhole(tokenIds, usage) ? { token_ids: tokenIds } : {}),
            ...(allowed.length > 0 ? { allowed_token_ids: allowed } : {}),
          },
        ],
        model: nameOf([...names], model),
        prompt_token_ids: promptIds,
        ...(usage ? { usage } : {}),
      }
      return readAnswer(whole, model)
    },
  }
}

/** A router may switch to another model in the middle. Then the answer has the names of the other models. */
function nameOf(names: readonly string[], asked: string | undefined): string | undefined {
  const others = names.filter((name) => asked !== undefined && !isSameModel(asked, name))
  return others.length > 0 ? others.join(', ') : names[0]
}

/** Servers lose ids of pieces without text. If there are fewer ids than counted tokens, they are not the answer's. */
function isWhole(tokenIds: readonly number[], usage: unknown): boolean {
  const counted = (usage as { readonly completion_tokens?: unknown } | undefined)?.completion_tokens
  return tokenIds.length > 0 && !(typeof counted === 'number' && counted > tokenIds.length)
}

/** Returns the data of an event. Some servers write no empty line between events. Then each line that is JSON alone is an event. */
function dataOf(lines: readonly string[]): readonly string[] {
  const whole = lines.join('\n')
  return lines.length > 1 && !isJson(whole) ? lines : [whole]
}

function isJson(text: string): boolean {
  try {
    JSON.parse(withoutInfinities(text))
    return true
  } catch {
    return false
  }
}

/** Returns the error in an event of type error, as JSON or in words. */
function errorIn(text: string): unknown {
  const json: unknown = isJson(text) ? JSON.parse(withoutInfinities(text)) : null
  const isTold = typeof json === 'object' && json !== null && ('error' in json || 'message' in json)
  return isTold ? json : { error: { message: text } }
}
