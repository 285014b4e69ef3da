/** Answers in the form of the OpenAI API. Token ids have vLLM's place. */

import { randomUUID } from 'node:crypto'
import { itemAt } from '../../../item-at.ts'
import type { FinishReason } from '../../port.ts'
import { allowedAlong } from '../choice-place.ts'
import { choiceTokens, choiceTrie } from '../choices.ts'
import { growingText } from '../growing-text.ts'
import type { LocalGeneration } from '../messages.ts'
import type { Draw } from '../sampling.ts'
import type { Tokenizer } from '../tokenizer.ts'
import type { Plan } from './plan.ts'
import { readToolCalls, type ToolCall } from './tools.ts'

/** A token with its log-prob, the likeliest tokens at its place, and the length of the choice's text before it. */
export type Told = { readonly draw: Draw; readonly top: readonly Draw[]; readonly offset: number }

/** A part of a choice, or all of it. */
type Piece = {
  readonly index: number
  readonly text: string
  readonly told: readonly Told[]
  readonly finish: FinishReason | null
  /** The stop text that ended the choice. Null if none did. */
  readonly stopText: string | null
  /** Only in the first piece of a choice. */
  readonly promptTokens?: Int32Array
  /** Only in the last piece of a choice. */
  readonly calls?: readonly ToolCall[]
}

export type Answers = {
  /** @param sampled all generations, also those that are not returned: their tokens count too */
  whole(generations: readonly LocalGeneration[], sampled?: readonly LocalGeneration[]): unknown
  /** Separates an answer's text from its tool calls. */
  said(text: string): { readonly content: string; readonly calls: readonly ToolCall[] }
  /** Returns the chunks of a piece. A chat reports the role and the prompt's ids in a chunk of its own before the first piece. */
  chunks(piece: Piece): readonly unknown[]
  usageChunk(generations: readonly LocalGeneration[]): unknown
}

export function createAnswers(
  kind: 'chat' | 'completion',
  model: string,
  plan: Plan,
  tokenizer: Tokenizer,
): Answers {
  const chat = kind === 'chat'
  const object = chat ? 'chat.completion' : 'text_completion'
  const head = {
    id: `${chat ? 'chatcmpl' : 'cmpl'}-${randomUUID().replaceAll('-', '')}`,
    created: Math.floor(Date.now() / 1000),
    model,
  }
  const logprobs = (told: readonly Told[]) =>
    chat ? chatLogprobs(tokenizer, told) : completionLogprobs(tokenizer, told)
  const allowedOf = allowedTokens(plan, tokenizer)
  const ids = (tokens: readonly number[], index: number) =>
    plan.tokenIds ? { token_ids: tokens, ...allowedOf(tokens, index) } : {}
  const promptIds = (tokens: Int32Array | undefined) =>
    plan.tokenIds && tokens ? { prompt_token_ids: Array.from(tokens) } : {}

  const said = (text: string) =>
    plan.tools
      ? readToolCalls(text, plan.tools.callable, plan.tools.onlyOne)
      : { content: text, calls: [] as const }
  const message = (content: string, calls: readonly ToolCall[]) => ({
    role: 'assistant',
    content: content === '' && calls.length > 0 ? null : content,
    refusal: null,
    ...(calls.length > 0 ? { tool_calls: calls } : {}),
  })

  return {
    whole(generations, sampled = generations) {
      const choices = generations.map((generation, index) => {
        const { content, calls } = said(generation.text)
        return {
          index,
          ...(chat
            ? { message: message(content, calls) }
            : { text: generation.text, ...promptIds(generation.promptTokens) }),
          logprobs: plan.logprobs ? logprobs(toldBy(generation, tokenizer)) : null,
          finish_reason: calls.length > 0 ? 'tool_calls' : generation.finish,
          stop_reason: generation.stopText,
          ...ids(Array.from(generation.tokens), index),
        }
      })
      return {
        ...head,
        object,
        choices,
        usage: usage(sampled, plan.bestOf ?? plan.choices),
        ...(chat ? promptIds(generations[0]?.promptTokens) : {}),
      }
    },
    said,
    chunks({ index, text, told, finish, stopText, promptTokens, calls = [] }) {
      const chunk = (choice: object, more = {}) => ({
        ...head,
        object: chat ? `${object}.chunk` : object,
        choices: [{ index, ...choice }],
        ...more,
      })
      const opening = { delta: { role: 'assistant', content: '' }, logprobs: null, finish_reason: null }
      const delta = {
        ...(text === '' ? {} : { content: text }),
        ...(calls.length > 0 ? { tool_calls: calls.map((call, index) => ({ index, ...call })) } : {}),
      }
      const piece = chunk({
        ...(chat ? { delta } : { text, ...promptIds(promptTokens) }),
        logprobs: plan.logprobs && told.length > 0 ? logprobs(told) : null,
        finish_reason: calls.length > 0 ? 'tool_calls' : finish,
        ...(finish === null ? {} : { stop_reason: stopText }),
        ...ids(
          told.map(({ draw }) => draw.token),
          index,
        ),
      })
      return chat && promptTokens ? [chunk(opening, promptIds(promptTokens)), piece] : [piece]
    },
    usageChunk: (generations) => ({
      ...head,
      object: chat ? `${object}.chunk` : object,
      choices: [],
      usage: usage(generations, plan.choices),
    }),
  }
}

/** Tells what each token of a choice was drawn from, if the answer is one of a list. Pieces of a choice come in their order. */
function allowedTokens({ requests }: Plan, tokenizer: Tokenizer) {
  const { choices } = itemAt(requests, 0)
  const root = choices && choiceTrie(choices, choiceTokens(tokenizer))
  const open = new Map<number, ReturnType<typeof allowedAlong>>()
  return (tokens: readonly number[], index: number) => {
    if (!root) return {}
    const along = open.get(index) ?? allowedAlong(root, tokenizer)
    open.set(index, along)
    return { allowed_token_ids: along(tokens) }
  }
}

function toldBy({ tokens, logprobs, top }: LocalGeneration, tokenizer: Tokenizer): Told[] {
  const grown = growingText((ids) => tokenizer.decode(ids))
  let length = 0
  return Array.from(tokens, (token, i) => {
    const offset = length
    length += grown(token).length
    return { draw: { token, logprob: itemAt(logprobs, i) }, top: top[i] ?? [], offset }
  })
}

function chatLogprobs(tokenizer: Tokenizer, told: readonly Told[]) {
  const entry = ({ token, logprob }: Draw) => {
    const bytes = tokenizer.tokenBytes(token)
    return { token: bytes.toString('utf8'), logprob, bytes: [...bytes] }
  }
  const content = told.map(({ draw, top }) => ({ ...entry(draw), top_logprobs: top.map(entry) }))
  return { content, refusal: null }
}

function completionLogprobs(tokenizer: Tokenizer, told: readonly Told[]) {
  const text = ({ token }: Draw) => tokenName(tokenizer.tokenBytes(token))
  return {
    tokens: told.map(({ draw }) => text(draw)),
    token_logprobs: told.map(({ draw }) => draw.logprob),
    // Tokens with the same text share a key. The sampled token has it, since it is always reported, else the likeliest.
    top_logprobs: told.map(({ draw, top }) => {
      const named = new Map<string, number>()
      for (const one of [draw, ...top]) if (!named.has(text(one))) named.set(text(one), one.logprob)
      return Object.fromEntries(named)
    }),
    text_offset: told.map(({ offset }) => offset),
  }
}

/** Returns the text of a token. A part of a character is written as `bytes:\\xf0\\x9f`, since all such parts would look alike. */
function tokenName(bytes: Buffer): string {
  const text = bytes.toString('utf8')
  if (!text.includes('\uFFFD')) return text
  return `bytes:${[...bytes].map((byte) => `\\x${byte.toString(16).padStart(2, '0')}`).join('')}`
}

/** Counts a prompt once for all its choices, which are adjacent. */
function usage(generations: readonly LocalGeneration[], ofPrompt: number) {
  const sum = (values: readonly number[]) => values.reduce((a, b) => a + b, 0)
  const prompts = generations.filter((_, i) => i % ofPrompt === 0).map(({ usage }) => usage)
  const prompt = sum(prompts.map(({ promptTokens }) => promptTokens))
  const completion = sum(generations.map(({ usage }) => usage.completionTokens))
  return {
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: prompt + completion,
    prompt_tokens_details: { cached_tokens: sum(prompts.map(({ cachedTokens }) => cachedTokens)) },
  }
}
