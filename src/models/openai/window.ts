/**
 * How much an endpoint takes, as far as it can be known without its tokenizer: its context in tokens, from the config, its list of
 * models or a refusal, and the tokens of a prompt, from how many characters a token and how many tokens an image had so far.
 */
import { imagesOf } from '../content.ts'
import type { GenerateRequest } from '../port.ts'

export type Window = {
  /**
   * Whether prompt and answer are expected to fit; true where nothing is known.
   * @param ask for the endpoint's own word on its context; asked once, where it is not known. Null where it has none
   */
  readonly fits: (request: GenerateRequest, ask: () => Promise<number | null>) => Promise<boolean>
  /** Tokens of a prompt that cannot fit by any count, and of the context that is too short for it; null for every other one. */
  readonly excess: (request: GenerateRequest) => { readonly tokens: number; readonly context: number } | null
  /** Learns from an answer's count of prompt tokens; false where the prompt must have more: then it was cut. */
  readonly learn: (request: GenerateRequest, promptTokens: number) => boolean
  /** Learns from the words of a refusal, such as `maximum context length is 4096 tokens`. */
  readonly refused: (request: GenerateRequest, message: string) => void
}

/** Characters of a token in texts of which nothing is known: fewer than in English, so that more is expected. */
const FIRST_RATIO = 3
/** Shorter prompts tell little: the template's own words are most of them. */
const LEAST_CHARACTERS = 400
/** Of these the template's words are so few that characters a token are those of the text. */
const LONG_CHARACTERS = 2_000
/** More characters than a token has in any text in use: English has four to five, indented programs up to six. */
const MOST_RATIO = 8
/** A text may have so many times the characters a token of any seen before: a prompt that is not sent for nothing costs more than a refusal. */
const SPARSER = 1.25
/** With so many times the characters a token of the densest long text, not all of it was counted. */
const CUT = 2
/** Characters that a token may have whatever the prompts so far had: a role's tasks may be Chinese and English. */
const ANY_RATIO = 6

/** @param tokens of prompt and answer; null where the endpoint is to be asked */
export function createWindow(tokens: number | null): Window {
  let context = tokens
  /** Whether the answer counts: a refusal may be about the prompt alone. */
  let withAnswer = true
  let asked: Promise<void> | null = null
  /** Least characters a token seen, in prompts of text alone. */
  let ratio: number | null = null
  /** The same of long prompts, and the most. */
  let long: { readonly least: number; readonly most: number } | null = null
  /** Most tokens an image seen. */
  let imageTokens = 0
  /** Most tokens of a prompt that was answered: no context is shorter. */
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
        // What the text does not take: its characters say nothing of an image's tokens.
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
      // An image whose tokens nobody has told may be all of what was too much.
      const unknown = images(request) > 0 && imageTokens === 0
      // Where the words tell no number, less than what was refused.
      const found = told !== null && told > answered ? told : unknown ? null : expected(request) - 1
      if (found === null) return
      if (context === null) withAnswer = false
      context = Math.min(context ?? Number.POSITIVE_INFINITY, found)
    },
  }
}

/** The context that a refusal tells, as 131072, 131,072 or 128k; null where it tells none, or only by how much it was exceeded. */
function toldContext(message: string): number | null {
  const [, digits, thousands] =
    /(?:context (?:length|size|window)|maximum model length)(?:(?!\bby\b)\D){0,20}?(\d{1,3}(?:[,.]\d{3}){1,2}(?!\d)|\d{1,4}(?=k)|\d{2,8})(k?)/i.exec(
      message,
    ) ?? []
  return digits === undefined ? null : Number(digits.replaceAll(/[,.]/g, '')) * (thousands ? 1000 : 1)
}

/** Of the texts of a prompt, with its tools and their calls; prompts of tokens and images count nothing. */
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
