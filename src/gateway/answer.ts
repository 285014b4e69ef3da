/** An answer of the model, whole or put together from the pieces of a stream, and what of it a trajectory keeps. */
import { z } from 'zod'
import { isDeep } from '../models/local/server/requests.ts'
import { BadAnswer, withoutInfinities } from '../models/openai/faults.ts'
import { callArguments, fromWire, wireContent } from '../models/openai/wire.ts'
import type { Generation } from '../models/port.ts'

export type ToolCall = {
  readonly id?: string
  readonly function: { readonly name: string; readonly arguments: string }
}

export type Answer = {
  /** The assistant's message as the model gave it, with content, tool calls, reasoning and whatever else. */
  readonly message: Readonly<Record<string, unknown>>
  readonly content: string
  /** Said in place of an answer, where the endpoint tells it apart; null for none. */
  readonly refusal: string | null
  readonly toolCalls: readonly ToolCall[]
  /** As the endpoint words it, e.g. `stop`, `length` or `tool_calls`. */
  readonly finish: string
  /** The stop text that ended it, where the endpoint tells. */
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
  choices: z
    .array(
      z.object({
        ...{ message: messageSchema, finish_reason: z.string().nullish() },
        stop_reason: z.string().nullish().catch(null),
      }),
    )
    .min(1),
})

/** The answer in the text of a body. Throws a SyntaxError where it is no JSON, and as `readAnswer`. */
export function readBody(text: string): Answer {
  return readAnswer(JSON.parse(withoutInfinities(text)))
}

/** @throws BadAnswer where it is not what the API promises */
export function readAnswer(json: unknown): Answer {
  if (isDeep(firstOf(json)?.message))
    throw new BadAnswer('bad-answer', 'choices.0.message is nested too deeply')
  const generation = fromWire(json, {})
  const parsed = outline.safeParse(asChat(json))
  if (!parsed.success) {
    const [issue] = parsed.error.issues
    throw new BadAnswer('bad-answer', `${issue.path.join('.')}: ${issue.message}`)
  }
  const { message, finish_reason, stop_reason } = parsed.data.choices[0]
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

/** A completion of text as one of a chat; anything else as it is. */
function asChat(json: unknown): unknown {
  const parsed = readText(json)
  if (parsed === null) return json
  const choices = parsed.choices.map(({ text, ...rest }) => ({
    ...rest,
    message: { role: 'assistant', content: text },
  }))
  return { ...parsed, choices }
}

const textCompletion = z.looseObject({ choices: z.array(z.looseObject({ text: z.string() })).min(1) })

/** Null for what is none; looked at first, since a schema that fails costs an error for each event of a chat. */
function readText(json: unknown) {
  return typeof firstOf(json)?.text === 'string' ? (textCompletion.safeParse(json).data ?? null) : null
}

type Choice = { readonly message?: unknown; readonly text?: unknown }

function firstOf(json: unknown): Choice | null | undefined {
  const choices: unknown = (json as { choices?: unknown } | null)?.choices
  return Array.isArray(choices) ? choices[0] : undefined
}

/** The same of an event of a stream. */
function asChatEvent(json: unknown): unknown {
  const parsed = readText(json)
  if (parsed === null) return json
  const choices = parsed.choices.map(({ text, logprobs, ...rest }) => {
    const told = tokenLogprobs.safeParse(logprobs).data?.token_logprobs
    return {
      ...{ ...rest, delta: { content: text } },
      ...(told ? { logprobs: { content: told.map((logprob) => ({ logprob })) } } : {}),
    }
  })
  return { ...parsed, choices }
}

const tokenLogprobs = z.object({ token_logprobs: z.array(z.number().nullable()) })

/** Of an empty object the text of others is to come. */
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
const ids = z.array(z.int()).nullish()
const chunkSchema = z.object({
  choices: z
    .array(
      z.object({
        index: z.int().nullish(),
        delta: deltaSchema.nullish(),
        finish_reason: z.string().nullish(),
        logprobs: z.object({ content: z.array(z.unknown()).nullish() }).nullish(),
        token_ids: ids,
        prompt_token_ids: ids,
      }),
    )
    .nullish(),
  /** What broke the answer off. */
  error: z.strictObject({}).nullish(),
  prompt_token_ids: ids,
  usage: z.unknown().optional(),
})

export type AnswerStream = {
  /** Takes the bytes as they come. Throws BadAnswer where an event is no chunk of a completion. */
  readonly push: (bytes: Uint8Array) => void
  /** Whether it is a stream: an event was read, or a comment that keeps it alive. */
  readonly begun: () => boolean
  /** Whether `[DONE]` came: nothing of the answer follows. */
  readonly over: () => boolean
  /** The answer, once the stream is over. Throws BadAnswer where its end is missing. */
  readonly end: () => Answer
}

/** A field of a message that comes in pieces; servers that write all fields send null with the pieces of others. */
function joined(before: unknown, piece: unknown): unknown {
  if (piece === null && before !== undefined) return before
  if (typeof before === 'string' && typeof piece === 'string') return before + piece
  return Array.isArray(before) && Array.isArray(piece) ? [...before, ...piece] : piece
}

/** Reads server-sent events (`data: {...}` up to `data: [DONE]`) and joins them into one answer. */
export function answerStream(): AnswerStream {
  const decoder = new TextDecoder()
  let rest = ''
  let begun = false
  let done = false
  let content = ''
  let said = false
  let finish: string | null = null
  let promptIds: number[] | null = null
  let usage: unknown
  const tokenIds: number[] = []
  const logprobs: unknown[] = []
  const others: Record<string, unknown> = {}
  const calls: { id?: string; name: string; arguments: string }[] = []

  function take(line: string): void {
    begun ||= /^(?:data)?:/.test(line)
    if (!line.startsWith('data:')) return
    const text = line.slice(5).trim()
    if (text === '[DONE]') done = true
    else takeEvent(text)
  }

  function takeEvent(text: string): void {
    const parsed = chunkSchema.safeParse(asChatEvent(JSON.parse(withoutInfinities(text))))
    if (!parsed.success)
      throw new BadAnswer('bad-answer', 'an event of the stream is no chunk of a completion')
    const { choices, prompt_token_ids } = parsed.data
    if (prompt_token_ids) promptIds = prompt_token_ids
    if (parsed.data.usage) usage = parsed.data.usage
    for (const choice of choices ?? []) {
      if ((choice.index ?? 0) !== 0) continue
      said = true
      // vLLM tells them beside the choices or in the first of them.
      promptIds ??= choice.prompt_token_ids ?? null
      const { role: _, content: piece, tool_calls, ...more } = choice.delta ?? {}
      content += piece ?? ''
      for (const [name, value] of Object.entries(more)) others[name] = joined(others[name], value)
      for (const call of tool_calls ?? []) takeCall(call)
      if (choice.finish_reason) finish = choice.finish_reason
      tokenIds.push(...(choice.token_ids ?? []))
      logprobs.push(...(choice.logprobs?.content ?? []))
    }
  }

  function takeCall(call: {
    index?: number | null
    id?: string | null
    function?: { name?: string | null; arguments?: string | null } | null
  }): void {
    const at = call.index ?? calls.length
    calls[at] ??= { name: '', arguments: '' }
    if (call.id) calls[at].id = call.id
    calls[at].name += call.function?.name ?? ''
    calls[at].arguments += call.function?.arguments ?? ''
  }

  return {
    begun: () => begun,
    over: () => done,
    push(bytes) {
      rest += decoder.decode(bytes, { stream: true })
      const lines = rest.split('\n')
      rest = lines.pop() ?? ''
      for (const line of lines) take(line.trimEnd())
    },
    end() {
      if (rest !== '') take(rest.trimEnd())
      if (!said) throw new BadAnswer('empty-choices', 'the stream has no choices')
      if (!done && finish === null) throw new BadAnswer('bad-answer', 'the stream ended before its end')
      const tool_calls = calls.flatMap(({ id, name, arguments: text }) => [
        { ...(id === undefined ? {} : { id }), type: 'function', function: { name, arguments: text } },
      ])
      return readAnswer({
        choices: [
          {
            message: {
              role: 'assistant',
              content: content === '' && tool_calls.length > 0 ? null : content,
              ...others,
              ...(tool_calls.length > 0 ? { tool_calls } : {}),
            },
            finish_reason: finish,
            ...(logprobs.length > 0 ? { logprobs: { content: logprobs } } : {}),
            ...(tokenIds.length > 0 ? { token_ids: tokenIds } : {}),
          },
        ],
        prompt_token_ids: promptIds,
        ...(usage ? { usage } : {}),
      })
    },
  }
}
