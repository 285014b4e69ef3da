/** Translates OpenAI's responses to a chat: messages, function calls and their outputs. Earlier responses are not stored. */
import { randomUUID } from 'node:crypto'
import { z } from 'zod'
import { byName } from '../../models/names.ts'
import type { Answer } from '../answer.ts'
import { type Api, type Asked, checked, given, type Wording } from './api.ts'

const part = z.union([
  z.looseObject({ type: z.enum(['input_text', 'output_text', 'text']), text: z.string() }),
  z.strictObject({ type: z.literal('input_image'), image_url: z.string(), detail: z.string().nullish() }),
  z.looseObject({ type: z.literal('refusal'), refusal: z.string() }),
])
const content = z.union([z.string(), z.array(part)])
const item = z.union([
  z.looseObject({
    type: z.literal('function_call'),
    call_id: z.string(),
    name: z.string(),
    arguments: z.string(),
  }),
  z.looseObject({ type: z.literal('function_call_output'), call_id: z.string(), output: content }),
  z.looseObject({ type: z.literal('reasoning') }),
  z.looseObject({
    type: z.literal('message').optional(),
    role: z.enum(['user', 'assistant', 'system', 'developer']),
    content,
  }),
])

const schema = z.strictObject({
  model: z.string().nullish(),
  input: z
    .union([z.string(), z.array(item).min(1)])
    .refine(
      (items) => typeof items === 'string' || items.some(({ type }) => type !== 'reasoning'),
      'it has only reasoning, which is not repeated',
    ),
  instructions: z.string().nullish(),
  tools: z
    .array(
      z.strictObject({
        type: z.literal('function', 'the model calls only functions'),
        name: z.string(),
        description: z.string().nullish(),
        parameters: byName(z.unknown()).nullish(),
        strict: z.boolean().nullish(),
      }),
    )
    .nullish(),
  tool_choice: z
    .union([
      z.enum(['auto', 'none', 'required']),
      z.strictObject({ type: z.literal('function'), name: z.string() }),
    ])
    .nullish(),
  parallel_tool_calls: z.boolean().nullish(),
  temperature: z.number().nullish(),
  top_p: z.number().nullish(),
  max_output_tokens: z.int().min(1).nullish(),
  reasoning: z.strictObject({ effort: z.string().nullish(), summary: z.string().nullish() }).nullish(),
  text: z
    .strictObject({
      format: z
        .union([
          z.strictObject({ type: z.literal('text') }),
          z.strictObject({ type: z.literal('json_object') }),
          z.strictObject({
            type: z.literal('json_schema'),
            name: z.string(),
            schema: byName(z.unknown()),
            description: z.string().nullish(),
            strict: z.boolean().nullish(),
          }),
        ])
        .nullish(),
      verbosity: z.null().optional(),
    })
    .nullish(),
  stream: z.boolean().nullish(),
  stream_options: z.unknown().optional(),
  store: z.boolean().nullish(),
  background: z.literal(false).nullish(),
  truncation: z.literal('disabled').nullish(),
  previous_response_id: z.null('responses are not stored: send the whole input').optional(),
  /** Reasoning is not encrypted here, and unencrypted reasoning is no part of an answer. */
  include: z.array(z.literal('reasoning.encrypted_content')).nullish(),
  metadata: z.unknown().optional(),
  user: z.string().nullish(),
  service_tier: z.unknown().optional(),
  safety_identifier: z.unknown().optional(),
  prompt_cache_key: z.unknown().optional(),
})
type Body = z.output<typeof schema>

export const responses: Api = {
  read(json): Asked {
    const body = checked(schema, json)
    const { instructions, input, tools, tool_choice: choice, text } = body
    const messages = [
      ...(instructions ? [{ role: 'system', content: instructions }] : []),
      ...(typeof input === 'string' ? [{ role: 'user', content: input }] : chatMessages(input)),
    ]
    const functions = tools?.map(({ type, ...rest }) => ({ type, function: given(rest) }))
    return {
      path: '/chat/completions',
      body: given({
        messages,
        tools: functions,
        temperature: body.temperature,
        top_p: body.top_p,
        max_tokens: body.max_output_tokens,
        reasoning_effort: body.reasoning?.effort,
        tool_choice:
          typeof choice === 'object' && choice
            ? { type: 'function', function: { name: choice.name } }
            : choice,
        parallel_tool_calls: tools?.length ? body.parallel_tool_calls : undefined,
        response_format: formatOf(text?.format),
      }),
      model: body.model ?? null,
      stream: body.stream ?? false,
      messages,
      tools: functions,
      wording: wordingOf(body),
    }
  },
}

function formatOf(format: NonNullable<Body['text']>['format']): object | undefined {
  if (!format || format.type === 'text') return undefined
  if (format.type === 'json_object') return format
  const { type, ...json_schema } = format
  return { type, json_schema: given(json_schema) }
}

/** Adjacent calls become one message of the assistant. Earlier reasoning is left out. */
function chatMessages(items: readonly z.output<typeof item>[]): object[] {
  const messages: Record<string, unknown>[] = []
  for (const one of items) {
    if ('call_id' in one && one.type === 'function_call') {
      const {
        call_id: id,
        name,
        arguments: text,
      } = one as { call_id: string; name: string; arguments: string }
      const call = { id, type: 'function', function: { name, arguments: text } }
      const last = messages.at(-1)
      if (last?.role === 'assistant') last.tool_calls = [...((last.tool_calls as object[]) ?? []), call]
      else messages.push({ role: 'assistant', content: null, tool_calls: [call] })
    } else if (one.type === 'function_call_output') {
      const { call_id, output } = one as { call_id: string; output: z.output<typeof content> }
      messages.push({ role: 'tool', tool_call_id: call_id, content: partsOf(output) })
    } else if ('role' in one) {
      const { role, content: said } = one as { role: string; content: z.output<typeof content> }
      messages.push({ role: role === 'developer' ? 'system' : role, content: partsOf(said) })
    }
  }
  return messages
}

function partsOf(parts: z.output<typeof content>): string | object[] {
  if (typeof parts === 'string') return parts
  const told = parts.map((one) => {
    if ('image_url' in one)
      return { type: 'image_url', image_url: given({ url: one.image_url, detail: one.detail }) }
    return { type: 'text', text: 'text' in one ? one.text : one.refusal }
  })
  if (told.every((one) => one.type === 'text'))
    return told.map((one) => ('text' in one ? one.text : '')).join('')
  return told
}

const id = (prefix: string) => `${prefix}_${randomUUID().replaceAll('-', '')}`

type Piece =
  | { readonly type: 'output_text'; readonly text: string }
  | { readonly type: 'refusal'; readonly refusal: string }
type Output = Readonly<Record<string, unknown>> & { readonly id: string; readonly type: string }

function outputOf({ content: text, refusal, toolCalls, generation: { reasoning } }: Answer): Output[] {
  const said = text !== '' || (refusal === null && toolCalls.length === 0)
  const parts = [
    ...(said ? [{ type: 'output_text', text, annotations: [], logprobs: [] }] : []),
    ...(refusal === null ? [] : [{ type: 'refusal', refusal }]),
  ]
  return [
    ...(reasoning
      ? [
          {
            id: id('rs'),
            type: 'reasoning',
            summary: [],
            content: [{ type: 'reasoning_text', text: reasoning.text }],
          },
        ]
      : []),
    ...(parts.length === 0
      ? []
      : [
          {
            id: id('msg'),
            type: 'message',
            status: 'completed',
            role: 'assistant',
            content: parts,
          },
        ]),
    ...toolCalls.map(({ id: call, function: { name, arguments: values } }) => ({
      id: id('fc'),
      type: 'function_call',
      status: 'completed',
      call_id: call ?? id('call'),
      name,
      arguments: values,
    })),
  ]
}

/** Reasons for which an answer ends early. */
const CUT: Readonly<Record<string, string>> = {
  length: 'max_output_tokens',
  content_filter: 'content_filter',
}

function wordingOf(body: Body): Wording {
  function response(answer: Answer, model: string, output: readonly Output[], status: string) {
    const { promptTokens, completionTokens, cachedTokens } = answer.generation.usage
    const reason = status === 'completed' ? CUT[answer.finish] : undefined
    return {
      id: id('resp'),
      object: 'response',
      created_at: Math.floor(Date.now() / 1000),
      model,
      status: reason ? 'incomplete' : status,
      error: null,
      output,
      incomplete_details: reason ? { reason } : null,
      instructions: body.instructions ?? null,
      max_output_tokens: body.max_output_tokens ?? null,
      tools: body.tools ?? [],
      tool_choice: body.tool_choice ?? 'auto',
      parallel_tool_calls: body.parallel_tool_calls ?? true,
      temperature: body.temperature ?? null,
      top_p: body.top_p ?? null,
      text: body.text ?? { format: { type: 'text' } },
      reasoning: body.reasoning ?? { effort: null, summary: null },
      metadata: body.metadata ?? {},
      previous_response_id: null,
      store: false,
      truncation: 'disabled',
      user: body.user ?? null,
      usage:
        status === 'completed'
          ? {
              input_tokens: promptTokens,
              output_tokens: completionTokens,
              total_tokens: promptTokens + completionTokens,
              input_tokens_details: { cached_tokens: cachedTokens },
              output_tokens_details: { reasoning_tokens: answer.generation.reasoning?.tokens ?? 0 },
            }
          : null,
    }
  }

  return {
    whole: (answer, model) => response(answer, model, outputOf(answer), 'completed'),
    events(answer, model) {
      const output = outputOf(answer)
      const whole = response(answer, model, output, 'completed')
      const begun = { ...whole, status: 'in_progress', incomplete_details: null, output: [], usage: null }
      const told: { event: string; data: object }[] = []
      const tell = (event: string, data: object) =>
        told.push({ event, data: { type: event, sequence_number: told.length, ...data } })
      tell('response.created', { response: begun })
      tell('response.in_progress', { response: begun })
      for (const [output_index, one] of output.entries()) {
        const at = { output_index, item_id: one.id }
        const open = { ...one, ...(one.type === 'reasoning' ? {} : { status: 'in_progress' }) }
        if (one.type === 'message') {
          tell('response.output_item.added', { output_index, item: { ...open, content: [] } })
          for (const [content_index, piece] of (one.content as Piece[]).entries()) {
            const place = { ...at, content_index }
            if (piece.type === 'refusal') {
              tell('response.content_part.added', { ...place, part: { ...piece, refusal: '' } })
              tell('response.refusal.delta', { ...place, delta: piece.refusal })
              tell('response.refusal.done', { ...place, refusal: piece.refusal })
            } else {
              tell('response.content_part.added', { ...place, part: { ...piece, text: '' } })
              tell('response.output_text.delta', { ...place, delta: piece.text, logprobs: [] })
              tell('response.output_text.done', { ...place, text: piece.text, logprobs: [] })
            }
            tell('response.content_part.done', { ...place, part: piece })
          }
        } else if (one.type === 'function_call') {
          tell('response.output_item.added', { output_index, item: { ...open, arguments: '' } })
          tell('response.function_call_arguments.delta', { ...at, delta: one.arguments })
          tell('response.function_call_arguments.done', { ...at, name: one.name, arguments: one.arguments })
        } else tell('response.output_item.added', { output_index, item: open })
        tell('response.output_item.done', { output_index, item: one })
      }
      tell(whole.status === 'incomplete' ? 'response.incomplete' : 'response.completed', { response: whole })
      return told
    },
  }
}
