/** Translates Anthropic's messages to a chat: blocks of text, images, tools and their results. */
import { randomUUID } from 'node:crypto'
import { z } from 'zod'
import { parseExact } from '../../exact-json.ts'
import { byName } from '../../models/names.ts'
import { apiError } from '../../openai-api/errors.ts'
import type { Answer } from '../answer.ts'
import { type Api, checked, given, type Wording } from './api.ts'

/** A note for caches, which this gateway does not have. */
const cache = { cache_control: z.unknown().optional() }
const textBlock = z.strictObject({
  type: z.literal('text'),
  text: z.string(),
  citations: z.null().optional(),
  ...cache,
})
const imageBlock = z.strictObject({
  type: z.literal('image'),
  source: z.discriminatedUnion('type', [
    z.strictObject({ type: z.literal('base64'), media_type: z.string(), data: z.string() }),
    z.strictObject({ type: z.literal('url'), url: z.string() }),
  ]),
  ...cache,
})
const texts = z.union([z.string(), z.array(z.discriminatedUnion('type', [textBlock, imageBlock]))])
const block = z.discriminatedUnion('type', [
  textBlock,
  imageBlock,
  z.strictObject({
    type: z.literal('tool_use'),
    id: z.string(),
    name: z.string(),
    input: byName(z.unknown()),
    ...cache,
  }),
  z.strictObject({
    type: z.literal('tool_result'),
    tool_use_id: z.string(),
    content: texts.optional(),
    is_error: z.boolean().optional(),
    ...cache,
  }),
  z.strictObject({ type: z.literal('thinking'), thinking: z.string(), signature: z.string().optional() }),
])
type Block = z.output<typeof block>

const schema = z.strictObject({
  model: z.string(),
  max_tokens: z.int().min(1),
  messages: z
    .array(
      z.strictObject({
        role: z.enum(['user', 'assistant']),
        content: z
          .union([z.string(), z.array(block)])
          .refine((said) => typeof said === 'string' || said.length > 0, 'it has no block'),
      }),
    )
    .min(1),
  system: z.union([z.string(), z.array(textBlock)]).optional(),
  temperature: z.number().min(0).max(2).optional(),
  top_p: z.number().gt(0).max(1).optional(),
  top_k: z.int().min(0).optional(),
  stop_sequences: z.array(z.string()).optional(),
  stream: z.boolean().optional(),
  metadata: z.unknown().optional(),
  service_tier: z.unknown().optional(),
  thinking: z.strictObject({ type: z.literal('disabled') }).optional(),
  output_config: z
    .strictObject({
      effort: z.null('it is not passed on by the gateway').optional(),
      format: z.strictObject({ type: z.literal('json_schema'), schema: byName(z.unknown()) }).nullish(),
    })
    .optional(),
  ...cache,
  tools: z
    .array(
      z.strictObject({
        type: z.literal('custom').optional(),
        name: z.string(),
        description: z.string().optional(),
        input_schema: byName(z.unknown()),
        strict: z.boolean().nullish(),
        /** Arguments come in one piece here. */
        eager_input_streaming: z.boolean().nullish(),
        ...cache,
      }),
    )
    .optional(),
  tool_choice: z
    .strictObject({
      type: z.enum(['auto', 'any', 'tool', 'none']),
      name: z.string().optional(),
      disable_parallel_tool_use: z.boolean().optional(),
    })
    .refine(({ type, name }) => type !== 'tool' || name !== undefined, {
      path: ['name'],
      message: 'it is missing',
    })
    .optional(),
})

export const messages: Api = {
  read(json) {
    const body = checked(schema, json)
    const { system, tools, tool_choice: choice } = body
    if (body.messages.at(-1)?.role === 'assistant')
      throw apiError(400, "the last message is the assistant's, and an answer is not continued here", {
        param: 'messages',
        code: 'unsupported_parameter',
      })
    const chat = [
      ...(system === undefined ? [] : [{ role: 'system', content: textOf(system) }]),
      ...body.messages.flatMap(({ role, content }) => chatMessages(role, content)),
    ]
    const functions = tools?.map(({ name, description, input_schema, strict }) => ({
      type: 'function',
      function: given({ name, description, parameters: input_schema, strict }),
    }))
    const format = body.output_config?.format
    return {
      path: '/chat/completions',
      body: given({
        messages: chat,
        tools: functions,
        max_tokens: body.max_tokens,
        stop: body.stop_sequences,
        temperature: body.temperature,
        top_p: body.top_p,
        top_k: body.top_k === 0 ? ALL_TOKENS : body.top_k,
        tool_choice: choice && CHOICES[choice.type](choice.name),
        response_format: format && {
          type: format.type,
          json_schema: { name: 'answer', schema: format.schema },
        },
        parallel_tool_calls: choice?.disable_parallel_tool_use ? false : undefined,
      }),
      model: body.model,
      stream: body.stream ?? false,
      messages: chat,
      tools: functions,
      wording,
    }
  },
  refusal: (status, message) => ({ type: 'error', error: { type: KINDS[status] ?? 'api_error', message } }),
}

/** Servers read -1 as no limit. Some servers refuse 0. Without a value the model's own default holds. */
const ALL_TOKENS = -1

const CHOICES = {
  auto: () => 'auto',
  any: () => 'required',
  none: () => 'none',
  tool: (name: string | undefined) => ({ type: 'function', function: { name } }),
} as const

const KINDS: Readonly<Record<number, string>> = {
  400: 'invalid_request_error',
  401: 'authentication_error',
  403: 'permission_error',
  404: 'not_found_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  529: 'overloaded_error',
}

/** Results of tools become messages of their own, before the rest of the user's content. */
function chatMessages(role: 'user' | 'assistant', content: string | readonly Block[]): object[] {
  if (typeof content === 'string') return [{ role, content }]
  const results = content.flatMap((one) =>
    one.type === 'tool_result'
      ? [{ role: 'tool', tool_call_id: one.tool_use_id, content: resultOf(one) }]
      : [],
  )
  const said = content.filter((one) => one.type === 'text' || one.type === 'image')
  const calls = content.flatMap((one) =>
    one.type === 'tool_use'
      ? [{ id: one.id, type: 'function', function: { name: one.name, arguments: JSON.stringify(one.input) } }]
      : [],
  )
  const thoughts = content.flatMap((one) => (one.type === 'thinking' ? [one.thinking] : []))
  if (said.length + calls.length + thoughts.length === 0) return results
  return [
    ...results,
    {
      role,
      content: said.length === 0 ? null : partsOf(said),
      ...(calls.length > 0 ? { tool_calls: calls } : {}),
      ...(thoughts.length > 0 ? { reasoning_content: thoughts.join('') } : {}),
    },
  ]
}

/** A chat has no field for a failed tool, so the text says it. */
function resultOf({ content = '', is_error }: Extract<Block, { type: 'tool_result' }>): string | object[] {
  const told = partsOf(content)
  if (!is_error) return told
  return typeof told === 'string' ? `Error: ${told}` : [{ type: 'text', text: 'Error:' }, ...told]
}

function textOf(content: string | readonly { readonly text: string }[]): string {
  return typeof content === 'string' ? content : content.map(({ text }) => text).join('\n')
}

/** Returns one text if all parts are text: every template reads that. */
function partsOf(content: z.output<typeof texts>): string | object[] {
  if (typeof content === 'string') return content
  if (content.every((part) => part.type === 'text')) return content.map(({ text }) => text).join('\n')
  return content.map((part) => {
    if (part.type === 'text') return { type: 'text', text: part.text }
    const { source } = part
    const url = source.type === 'url' ? source.url : `data:${source.media_type};base64,${source.data}`
    return { type: 'image_url', image_url: { url } }
  })
}

type Content =
  | { readonly type: 'thinking'; readonly thinking: string; readonly signature: string }
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'tool_use'; readonly id: string; readonly name: string; readonly input: unknown }

function contentOf({ content, refusal, toolCalls, generation: { reasoning } }: Answer): Content[] {
  return [
    ...(reasoning ? [{ type: 'thinking' as const, thinking: reasoning.text, signature: '' }] : []),
    ...[content, refusal ?? ''].flatMap((text) => (text === '' ? [] : [{ type: 'text' as const, text }])),
    ...toolCalls.map(({ id, function: { name, arguments: text } }) => ({
      type: 'tool_use' as const,
      id: id ?? `toolu_${randomUUID()}`,
      name,
      input: valuesOf(text),
    })),
  ]
}

/** Arguments that are not valid JSON are passed on as a text within an object. The agent's own check answers them. */
function valuesOf(text: string): unknown {
  try {
    byName(z.unknown()).parse(JSON.parse(text || '{}'))
    return parseExact(text || '{}')
  } catch {
    return { unreadable: text }
  }
}

const REASONS: Readonly<Record<string, string>> = {
  length: 'max_tokens',
  tool_calls: 'tool_use',
  content_filter: 'refusal',
}

function stopReason({ stopText, refusal, finish }: Answer): string {
  if (stopText !== null) return 'stop_sequence'
  return refusal === null ? (REASONS[finish] ?? 'end_turn') : 'refusal'
}

const wording: Wording = {
  whole(answer, model) {
    const { promptTokens, completionTokens, cachedTokens } = answer.generation.usage
    return {
      id: `msg_${randomUUID().replaceAll('-', '')}`,
      type: 'message',
      role: 'assistant',
      model,
      content: contentOf(answer),
      stop_reason: stopReason(answer),
      stop_sequence: answer.stopText,
      usage: {
        input_tokens: promptTokens - cachedTokens,
        output_tokens: completionTokens,
        cache_read_input_tokens: cachedTokens,
        cache_creation_input_tokens: 0,
      },
    }
  },
  events(answer, model) {
    const message = wording.whole(answer, model) as {
      readonly content: readonly Content[]
      readonly stop_reason: string
      readonly stop_sequence: string | null
      readonly usage: { readonly output_tokens: number }
    }
    const told: { event: string; data: object }[] = []
    const tell = (event: string, data: object) => told.push({ event, data: { type: event, ...data } })
    const { output_tokens } = message.usage
    const opened = {
      ...message,
      content: [],
      stop_reason: null,
      stop_sequence: null,
      usage: { ...message.usage, output_tokens: 0 },
    }
    tell('message_start', { message: opened })
    for (const [index, block] of message.content.entries()) {
      const { empty, delta } = pieces(block)
      tell('content_block_start', { index, content_block: empty })
      tell('content_block_delta', { index, delta })
      tell('content_block_stop', { index })
    }
    const { stop_reason, stop_sequence } = message
    tell('message_delta', { delta: { stop_reason, stop_sequence }, usage: { output_tokens } })
    tell('message_stop', {})
    return told
  },
}

function pieces(block: Content): { readonly empty: object; readonly delta: object } {
  switch (block.type) {
    case 'text':
      return { empty: { ...block, text: '' }, delta: { type: 'text_delta', text: block.text } }
    case 'thinking':
      return {
        empty: { ...block, thinking: '' },
        delta: { type: 'thinking_delta', thinking: block.thinking },
      }
    case 'tool_use':
      return {
        empty: { ...block, input: {} },
        delta: { type: 'input_json_delta', partial_json: JSON.stringify(block.input) },
      }
  }
}
