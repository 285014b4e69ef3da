/**
 * Estimates what fits into an endpoint's context without its tokenizer. The context in tokens comes from the config, the server's list
 * of models or a refusal. A prompt's tokens follow from the characters a token and the tokens an image seen so far.
 */
import { imagesOf } from '../content.ts'
import type { GenerateRequest } from '../port.ts'

export type Window = {
  /**
   * Resolves to whether prompt and answer are expected to fit. Resolves to true if the context is unknown.
   * @param ask asks the endpoint for its context, called once if the context is unknown; null if the endpoint reports none
   */
  readonly fits: (request: GenerateRequest, ask: () => Promise<number | null>) => Promise<boolean>
  /** Returns tokens and context of a prompt that cannot fit by any count. Returns null for every other prompt. */
  readonly excess: (request: GenerateRequest) => { readonly tokens: number; readonly context: number } | null
  /**
   * Updates the estimate from the server's count of prompt tokens. Returns false if the count is impossibly small: then the server cut the
   * prompt.
   */
  readonly learn: (request: GenerateRequest, promptTokens: number) => boolean
  /** Learns the context from a refusal's words, such as `maximum context length is 4096 tokens`. */
  readonly refused: (request: GenerateRequest, message: string) => void
}

/** Characters a token in texts before any is known. English has more, so the estimate of tokens is high. */
const FIRST_RATIO = 3
/** Shorter prompts are ignored: most of their tokens are words of the template. */
const LEAST_CHARACTERS = 400
/** In prompts of this length the template's words hardly count. */
const LONG_CHARACTERS = 2_000
/** No text in use has more characters a token. English has four to five, indented programs up to six. */
const MOST_RATIO = 8
/** A text may have this many times the characters a token of any text so far. Withholding a prompt that fits costs more than a refusal. */
const SPARSER = 1.25
/** If a prompt has this many times the characters a token of the densest long text, the server did not count all of it. */
const CUT = 2
/** Any text may have this many characters a token, whatever earlier prompts had: a role's tasks may be Chinese and English. */
const ANY_RATIO = 6

/** @param tokens context in tokens, prompt and answer together; null asks the endpoint */
export function createWindow(tokens: number | null): Window {
  let context = tokens
  /** Whether the answer counts towards the context. A refusal may be about the prompt alone. */
  let withAnswer = true
  let asked: Promise<void> | null = null
  /** Least characters a token so far, in prompts of text alone. */
  let ratio: number | null = null
  /** Least and most characters a token so far, in long prompts. */
  let long: { readonly least: number; readonly most: number } | null = null
  /** Most tokens an image so far. */
  let imageTokens = 0
  /** Most tokens of an answered prompt. The context is at least this long. */
  let answered = 0

  const textTokens = (request: GenerateRequest) => characters(request) / (ratio ?? FIRST_RATIO)
  const expected = (request: GenerateRequest) =>
    Math.ceil(textTokens(request) + images(request) * imageTokens) + request.maxTokens

  return {
    async fits(request, ask) {
      if (context === null) {
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
    excess(request) {
      if (context === null) return null
      const sparsest = long ? Math.max(long.most * SPARSER, ANY_RATIO) : MOST_RATIO
      const least = Math.floor(characters(request, withoutRuns) / sparsest)
      if (least + (withAnswer ? request.maxTokens : 0) <= context) return null
      return { tokens: Math.ceil(textTokens(request)), context }
    },
    learn(request, promptTokens) {
      answered = Math.max(answered, promptTokens)
      const seen = images(request)
      if (seen > 0) {
        // Tokens beyond those of the text belong to the images.
        imageTokens = Math.max(imageTokens, (promptTokens - textTokens(request)) / seen)
        return true
      }
      const length = characters(request)
      if (length < LEAST_CHARACTERS || promptTokens <= 0) return true
      const own = length / promptTokens
      const dense = characters(request, withoutRuns)
      if (dense >= LONG_CHARACTERS) {
        const sure = dense / promptTokens
        if (sure > (long ? Math.max(CUT * long.least, ANY_RATIO) : MOST_RATIO)) return false
        long = { least: Math.min(long?.least ?? sure, sure), most: Math.max(long?.most ?? sure, sure) }
      }
      ratio = Math.min(ratio ?? Number.POSITIVE_INFINITY, own)
      return true
    },
    refused(request, message) {
      const told = toldContext(message)
      // The image's tokens are unknown and may be the whole excess.
      const unknown = images(request) > 0 && imageTokens === 0
      // If the refusal names no number, the context is less than the refused prompt.
      const found = told !== null && told > answered ? told : unknown ? null : expected(request) - 1
      if (found === null) return
      if (context === null) withAnswer = false
      context = Math.min(context ?? Number.POSITIVE_INFINITY, found)
    },
  }
}

/** Returns the context that a refusal names, as 131072, 131,072 or 128k. Returns null if it names none, or only the excess. */
function toldContext(message: string): number | null {
  const [, digits, thousands] =
    /(?:context (?:length|size|window)|maximum model length)(?:(?!\bby\b)\D){0,20}?(\d{1,3}(?:[,.]\d{3}){1,2}(?!\d)|\d{1,4}(?=k)|\d{2,8})(k?)/i.exec(
      message,
    ) ?? []
  return digits === undefined ? null : Number(digits.replaceAll(/[,.]/g, '')) * (thousands ? 1000 : 1)
}

/** Returns the number of characters of a prompt's texts, tools and tool calls. Token prompts and images count as 0. */
function characters({ prompt }: GenerateRequest, read = (text: string) => text): number {
  if ('text' in prompt) return read(prompt.text).length
  if (!('messages' in prompt)) return 0
  let sum = prompt.tools ? JSON.stringify(prompt.tools).length : 0
  for (const { content, toolCalls } of prompt.messages) {
    for (const part of typeof content === 'string' ? [content] : content)
      sum += typeof part === 'string' ? read(part).length : part.type === 'text' ? read(part.text).length : 0
    if (toolCalls) sum += JSON.stringify(toolCalls).length
  }
  return sum
}

/** Shortens runs of one character, such as lines or indentations, which may be one token. */
function withoutRuns(text: string): string {
  return text.replaceAll(/([\s\S])\1+/g, '$1')
}

function images({ prompt }: GenerateRequest): number {
  return 'messages' in prompt ? imagesOf(prompt.messages).length : 0
}
