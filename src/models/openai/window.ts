/**
 * Estimates how much an endpoint takes without its tokenizer. The context in tokens comes from the config, from the
 * list of models, or from a refusal. The tokens of a prompt follow from earlier counts of characters a token and of
 * tokens an image.
 */
import { imagesOf } from '../content.ts'
import type { GenerateRequest } from '../port.ts'

export type Window = {
  /**
   * Returns whether prompt and answer are expected to fit. Returns true if nothing is known.
   * @param ask asks the endpoint for its context, at most once, and only if it is unknown. Resolves to null if the
   * endpoint does not tell.
   */
  readonly fits: (request: GenerateRequest, ask: () => Promise<number | null>) => Promise<boolean>
  /**
   * Returns the estimated tokens and the context, if the prompt cannot fit even by the most generous estimate. Returns
   * null for every other prompt.
   */
  readonly excess: (request: GenerateRequest) => { readonly tokens: number; readonly context: number } | null
  /**
   * Updates the estimate from the server's count of prompt tokens. Returns false if the count is impossibly small: then
   * the server cut the prompt.
   */
  readonly learn: (request: GenerateRequest, promptTokens: number) => boolean
  /** Learns from the words of a refusal, such as `maximum context length is 4096 tokens`. */
  readonly refused: (request: GenerateRequest, message: string) => void
}

/** Characters a token in unknown texts. English has more, so this overestimates the tokens. */
const FIRST_RATIO = 3
/** Prompts with fewer characters tell little, because most of their words are the template's. */
const LEAST_CHARACTERS = 400
/** From this length on the template's words hardly matter. Characters a token are then those of the text. */
const LONG_CHARACTERS = 2_000
/** More characters a token than any text in use has. English has four to five, indented programs up to six. */
const MOST_RATIO = 8
/**
 * A text may have this many times the characters a token of any text so far. A prompt that is wrongly not sent costs
 * more than a refusal.
 */
const SPARSER = 1.25
/** A text with this many times the characters a token of the densest long text was not counted whole. */
const CUT = 2
/** Characters that a token may have, whatever the earlier prompts had. A role's tasks may be Chinese and English. */
const ANY_RATIO = 6

/** @param tokens tokens of prompt and answer. If it is null, the endpoint is asked. */
export function createWindow(tokens: number | null): Window {
  let context = tokens
  /** Whether the answer counts towards the context. A refusal may be about the prompt alone. */
  let withAnswer = true
  let asked: Promise<void> | null = null
  /** Fewest characters a token so far, in prompts without images. */
  let ratio: number | null = null
  /** Fewest and most characters a token so far, in long prompts. */
  let long: { readonly least: number; readonly most: number } | null = null
  /** Most tokens an image so far. */
  let imageTokens = 0
  /** Most tokens of an answered prompt. The context is not shorter. */
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
      // The tokens of images are still unknown. The images alone may exceed the context.
      const unknown = images(request) > 0 && imageTokens === 0
      // If the refusal gives no number, the context is below the estimate.
      const found = told !== null && told > answered ? told : unknown ? null : expected(request) - 1
      if (found === null) return
      if (context === null) withAnswer = false
      context = Math.min(context ?? Number.POSITIVE_INFINITY, found)
    },
  }
}

/**
 * Returns the context that a refusal tells, as 131072, 131,072 or 128k. Returns null if it tells none, or only the
 * excess.
 */
function toldContext(message: string): number | null {
  const [, digits, thousands] =
    /(?:context (?:length|size|window)|maximum model length)(?:(?!\bby\b)\D){0,20}?(\d{1,3}(?:[,.]\d{3}){1,2}(?!\d)|\d{1,4}(?=k)|\d{2,8})(k?)/i.exec(
      message,
    ) ?? []
  return digits === undefined ? null : Number(digits.replaceAll(/[,.]/g, '')) * (thousands ? 1000 : 1)
}

/** Counts the characters of a prompt with its tools and tool calls. Tokens and images count 0. */
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

/** A run of one character, such as a line or an indentation, may be one token. */
function withoutRuns(text: string): string {
  return text.replaceAll(/([\s\S])\1+/g, '$1')
}

function images({ prompt }: GenerateRequest): number {
  return 'messages' in prompt ? imagesOf(prompt.messages).length : 0
}
