/**
 * How much an endpoint takes, as far as it can be known without its tokenizer: its context in tokens, from the config, its list of
 * models or a refusal, and the tokens of a prompt, from how many characters a token and how many tokens an image had so far.
 */
import { imagesOf } from '../content.ts'
import type { GenerateRequest } from '../port.ts'

export type Window = {
  /** Whether prompt and answer are expected to fit; true where nothing is known. */
  readonly fits: (request: GenerateRequest) => Promise<boolean>
  /** What is wrong with a request that is clearly longer than the context, in words: it is not to be sent. Null for any other. */
  readonly tooLong: (request: GenerateRequest) => Promise<string | null>
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
const ASK_ABOVE_TOKENS = 400
/** By so much what is expected may be more than what a prompt has: it is counted by the densest text seen. */
const MARGIN = 1.5

export function createWindow({ tokens, ask }: WindowOptions): Window {
  let context = tokens
  let asked: Promise<void> | null = null
  /** Least characters a token seen, in prompts of text alone. */
  let ratio: number | null = null
  /** Most tokens an image seen. */
  let imageTokens = 0

  const textTokens = (request: GenerateRequest) => characters(request) / (ratio ?? FIRST_RATIO)
  const expected = (request: GenerateRequest) =>
    Math.ceil(textTokens(request) + images(request) * imageTokens) + request.maxTokens

  /** In tokens; null where nobody knows. */
  async function contextFor(request: GenerateRequest): Promise<number | null> {
    if (context === null && expected(request) > ASK_ABOVE_TOKENS) {
      asked ??= ask().then(
        (told) => {
          context ??= told
        },
        () => {},
      )
      await asked
    }
    return context
  }

  return {
    async fits(request) {
      return expected(request) <= ((await contextFor(request)) ?? Number.POSITIVE_INFINITY)
    },
    async tooLong(request) {
      const room = await contextFor(request)
      const wanted = expected(request)
      if (room === null || wanted <= MARGIN * room) return null
      return `some ${wanted} tokens of prompt and answer, where the context has ${room}`
    },
    learn(request, promptTokens) {
      const seen = images(request)
      if (seen > 0) {
        // What the text does not take: its characters say nothing of an image's tokens.
        imageTokens = Math.max(imageTokens, (promptTokens - textTokens(request)) / seen)
        return
      }
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

/** Of the texts of a prompt, with its tools and their calls; prompts of tokens and images count nothing. */
function characters({ prompt }: GenerateRequest): number {
  if ('text' in prompt) return prompt.text.length
  if (!('messages' in prompt)) return 0
  let sum = prompt.tools ? JSON.stringify(prompt.tools).length : 0
  for (const { content, toolCalls } of prompt.messages) {
    for (const part of typeof content === 'string' ? [content] : content)
      sum += typeof part === 'string' ? part.length : part.type === 'text' ? part.text.length : 0
    if (toolCalls) sum += JSON.stringify(toolCalls).length
  }
  return sum
}

function images({ prompt }: GenerateRequest): number {
  return 'messages' in prompt ? imagesOf(prompt.messages).length : 0
}
