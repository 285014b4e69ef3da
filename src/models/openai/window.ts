/**
 * How much an endpoint takes, as far as it can be known without its tokenizer: its context in tokens, from the config, its list of
 * models or a refusal, and the tokens of a prompt, from how many characters a token had in the prompts so far.
 */
import type { GenerateRequest } from '../port.ts'

export type Window = {
  /** Whether prompt and answer are expected to fit; true where nothing is known. */
  readonly fits: (request: GenerateRequest) => Promise<boolean>
  /** Learns from an answer's count of prompt tokens. */
  readonly learn: (request: GenerateRequest, promptTokens: number) => void
  /** Learns from the words of a refusal, such as `maximum context length is 4096 tokens`. */
  readonly refused: (request: GenerateRequest, message: string) => void
}

export type WindowOptions = {
  /** Tokens of prompt and answer; null where the endpoint is to be asked. */
  readonly tokens: number | null
  /** The endpoint's own word on it, asked once and only when a prompt is long; null where it has none. */
  readonly ask: () => Promise<number | null>
}

/** Characters of a token in texts of which nothing is known: fewer than in English, so that more is expected. */
const FIRST_RATIO = 3
/** Shorter prompts tell little: the template's own words are most of them. */
const LEAST_CHARACTERS = 400
/** The endpoint is asked when a prompt may be longer than any context in use is short. */
const ASK_ABOVE_TOKENS = 1_500

export function createWindow({ tokens, ask }: WindowOptions): Window {
  let context = tokens
  let asked: Promise<void> | null = null
  /** Least characters a token seen. */
  let ratio: number | null = null

  const expected = (request: GenerateRequest) =>
    Math.ceil(characters(request) / (ratio ?? FIRST_RATIO)) + request.maxTokens

  return {
    async fits(request) {
      if (context === null && expected(request) > ASK_ABOVE_TOKENS) {
        asked ??= ask().then(
          (told) => {
            context ??= told
          },
          () => {},
        )
        await asked
      }
      return context === null || expected(request) <= context
    },
    learn(request, promptTokens) {
      const length = characters(request)
      if (length < LEAST_CHARACTERS || promptTokens <= 0) return
      ratio = Math.min(ratio ?? Number.POSITIVE_INFINITY, length / promptTokens)
    },
    refused(request, message) {
      const [, told] = /context (?:length|size|window)\D{0,20}?(\d{2,8})/i.exec(message) ?? []
      // Where the words tell no number, less than what was refused.
      context = Math.min(context ?? Number.POSITIVE_INFINITY, told ? Number(told) : expected(request) - 1)
    },
  }
}

/** Of the texts of a prompt; prompts of tokens and parts that are no text count nothing. */
function characters({ prompt }: GenerateRequest): number {
  if ('text' in prompt) return prompt.text.length
  if (!('messages' in prompt)) return 0
  let sum = 0
  for (const { content } of prompt.messages)
    for (const part of typeof content === 'string' ? [content] : content)
      sum += typeof part === 'string' ? part.length : part.type === 'text' ? part.text.length : 0
  return sum
}
