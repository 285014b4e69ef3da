import { Tokenizer as HuggingFaceTokenizer } from '@huggingface/tokenizers'
import { ZodError } from 'zod'
import { RlError } from '../../errors.ts'
import { firstIssue } from '../../safe-parse.ts'
import { textOf } from '../content.ts'
import type { ChatMessage, ToolSpec } from '../port.ts'
import { type ChatTemplate, chatTemplate } from './chat-template.ts'
import { namedTokens, parseTokenizerConfig, withConfig } from './tokenizer-config.ts'
import { readableParts } from './tokenizer-parts.ts'
import { useRustSpace } from './white-space.ts'

/** Parsed tokenizer files of a Hugging Face folder: tokenizer.json and tokenizer_config.json. */
export type TokenizerFiles = {
  readonly tokenizer: Readonly<Record<string, unknown>>
  readonly config: Readonly<Record<string, unknown>>
  /** Text of chat_template.jinja. Newer folders have it instead of the key in tokenizer_config.json. */
  readonly chatTemplate?: string
  /** Template for chats with tools. It replaces the other one. */
  readonly toolTemplate?: string
  /** `model_type` of config.json. With the tokenizer's class it decides how tokenizer.json is read. */
  readonly modelType?: string
}

export type Tokenizer = {
  /** One more than the highest id, unused ids included. */
  readonly size: number
  readonly files: TokenizerFiles
  /**
   * Returns the token ids of a text. Special tokens in the text become their ids. With `begin`, the tokenizer's own tokens around a
   * text are added (Llama's begin token; Qwen has none).
   */
  readonly encode: (text: string, options?: { readonly begin?: boolean }) => Int32Array
  /** Returns the text of tokens. Special tokens are left out unless `special` is true. */
  readonly decode: (tokens: ArrayLike<number>, options?: { readonly special?: boolean }) => string
  /** Returns the text of one token as in the vocabulary. */
  readonly tokenText: (token: number) => string
  readonly tokenId: (text: string) => number | undefined
  readonly isSpecial: (token: number) => boolean
  /** Token for text outside of the vocabulary. Undefined if there is none. */
  readonly unknownToken: number | undefined
  /** End token of tokenizer_config.json. */
  readonly endToken: number | undefined
  /** Renders a chat with the model's template, ready for the assistant's answer unless `generationPrompt` is false. */
  readonly renderChat: (
    messages: readonly ChatMessage[],
    options?: {
      readonly generationPrompt?: boolean
      readonly variables?: Readonly<Record<string, unknown>>
      /** Tools that the model may call, rendered in the shape of OpenAI's API. */
      readonly tools?: readonly ToolSpec[]
    },
  ) => string
  /** Returns whether the chat template reads a variable. Other variables would be dropped silently. */
  readonly templateReads: (variable: string) => boolean
  /** Returns the bytes of a token. In byte-level vocabularies they may be part of a character. */
  readonly tokenBytes: (token: number) => Buffer
  /** Most bytes of one token. Infinite if the unknown token stands for any text. */
  readonly mostTokenBytes: number
}

/**
 * Creates a tokenizer from the parsed files of a model folder.
 * @param source folder or name, for messages
 * @throws RlError `model.tokenizer` if the files are no implemented tokenizer
 * @example
 * const tokenizer = createTokenizer(trainWordTokenizer({ words: ['go', 'to', 'cabinet'] }))
 * tokenizer.decode(tokenizer.encode('go to cabinet 12')) // 'go to cabinet 12'
 */
export function createTokenizer(files: TokenizerFiles, source = 'tokenizer.json'): Tokenizer {
  const { inner, config, parts } = readFiles(files, source)
  const { eos_token, unk_token, chat_template } = config
  const vocabulary = inner.get_vocab(true)
  let highest = -1
  let longest = 0
  for (const [text, id] of vocabulary) {
    highest = Math.max(highest, id)
    // Ids without a token have no text.
    longest = Math.max(longest, Buffer.byteLength(text ?? ''))
  }
  const specials = new Set(
    [...inner.get_added_tokens_decoder()].filter(([, t]) => t.special).map(([id]) => id),
  )
  const addedTokens = new Set(inner.get_added_tokens_decoder().keys())
  const decoder = JSON.stringify(parts.decoder ?? null)
  const byteLevel = decoder.includes('"ByteLevel"')
  /** Vocabularies made by SentencePiece write a space as U+2581 and a byte as `<0x0A>`. */
  const byteFallback = decoder.includes('"ByteFallback"')
  keepByteOrderMarks(inner)
  useRustSpace(inner)
  const named = (text: string | null | undefined) => (text == null ? undefined : vocabulary.get(text))
  const templateNamed = (name: string) =>
    Array.isArray(chat_template) ? chat_template.find((one) => one.name === name)?.template : undefined
  const templateText =
    files.chatTemplate ?? (typeof chat_template === 'string' ? chat_template : templateNamed('default'))
  /** The template for chats with tools. Default: the ordinary template. */
  const toolTemplateText =
    files.toolTemplate ?? (files.chatTemplate ? undefined : templateNamed('tool_use')) ?? templateText
  const templates = new Map<string, ChatTemplate>()
  /** Special tokens that templates read by name. Missing tokens have no name. */
  const specialNames = namedTokens(config)

  const decode: Tokenizer['decode'] = (tokens, options) => {
    const kept = Array.from(tokens).filter((token) => options?.special || !specials.has(token))
    return kept.length === 0
      ? ''
      : inner.decode(kept, { skip_special_tokens: false, clean_up_tokenization_spaces: false })
  }
  const templateReads: Tokenizer['templateReads'] = (variable) =>
    /^\w+$/.test(variable) && new RegExp(`\\b${variable}\\b`).test(`${templateText} ${toolTemplateText}`)
  const renderChat: Tokenizer['renderChat'] = (messages, options = {}) => {
    const { generationPrompt = true, variables, tools } = options
    const told = tools?.map((tool) => ({ type: 'function', function: tool })) ?? variables?.tools ?? null
    const text = told === null ? templateText : toolTemplateText
    if (text == null)
      throw refusedChat('this model has no chat template', undefined, 'prompt this model with text')
    if (tools && !templateReads('tools'))
      throw refusedChat('the chat template has no tools', undefined, 'choose a model that calls tools')
    const texts = messages.map(templateMessage)
    try {
      const template = templates.get(text) ?? chatTemplate(text)
      templates.set(text, template)
      return template.render({
        documents: null,
        ...specialNames,
        ...variables,
        tools: told,
        messages: texts,
        add_generation_prompt: generationPrompt,
      })
    } catch (cause) {
      throw refusedChat(`chat template: ${cause instanceof Error ? cause.message : String(cause)}`, cause)
    }
  }
  return {
    size: highest + 1,
    files,
    encode: (text, { begin = false } = {}) =>
      Int32Array.from(inner.encode(text, { add_special_tokens: begin }).ids),
    decode,
    tokenText: (token) => inner.id_to_token(token) ?? '',
    tokenId: (text) => vocabulary.get(text),
    isSpecial: (token) => specials.has(token),
    tokenBytes(token) {
      const text = inner.id_to_token(token) ?? ''
      if (byteFallback && !addedTokens.has(token)) {
        const byte = /^<0x([0-9A-F]{2})>$/.exec(text)?.[1]
        return byte === undefined ? Buffer.from(text.replaceAll('\u2581', ' ')) : Buffer.from(byte, 'hex')
      }
      return byteLevel && !addedTokens.has(token)
        ? Buffer.from(bytesOf(text))
        : Buffer.from(decode([token], { special: true }))
    },
    mostTokenBytes: byteLevel || byteFallback ? longest : Number.POSITIVE_INFINITY,
    unknownToken: named(unk_token),
    endToken: named(eos_token),
    renderChat,
    templateReads,
  }
}

/** Keeps byte order marks in decoded text, which the library drops. */
function keepByteOrderMarks(inner: object): void {
  type Decoding = {
    readonly config?: { readonly type?: string }
    readonly decoders?: readonly Decoding[]
    text_decoder?: { decode(bytes: Uint8Array): string }
  }
  const { decoder } = inner as { readonly decoder?: Decoding | null }
  for (const one of decoder?.decoders ?? [decoder])
    if (one?.config?.type === 'ByteFallback') one.text_decoder = new TextDecoder('utf-8', { ignoreBOM: true })
}

/** Returns a message as templates read it: tool calls in the shape of OpenAI's API, with arguments as values. */
function templateMessage(message: ChatMessage): object {
  const { role, toolCalls, toolCallId, toolName } = message
  return {
    role,
    content: textOf(message),
    ...(toolName === undefined ? {} : { name: toolName }),
    ...(toolCallId === undefined ? {} : { tool_call_id: toolCallId }),
    ...(toolCalls ? { tool_calls: toolCalls.map(templateCall) } : {}),
  }
}

function templateCall({
  id,
  name,
  arguments: values,
}: NonNullable<ChatMessage['toolCalls']>[number]): object {
  return { ...(id === undefined ? {} : { id }), type: 'function', function: { name, arguments: values } }
}

/** Characters for the 256 bytes in byte-level vocabularies: printable ones for themselves, the others from U+0100 on. */
const BYTE_OF: ReadonlyMap<string, number> = new Map(
  (() => {
    const printable = (byte: number) =>
      (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae
    let others = 0x100
    return Array.from({ length: 256 }, (_, byte) => [
      String.fromCharCode(printable(byte) ? byte : others++),
      byte,
    ])
  })(),
)

function bytesOf(text: string): number[] {
  return [...text].flatMap((character) => BYTE_OF.get(character) ?? [...Buffer.from(character)])
}

/** @throws RlError `model.tokenizer` with the name of the part that is not implemented */
function readFiles(files: TokenizerFiles, source: string) {
  const refuse = (what: string) =>
    unusable(source, `${what} is not implemented`, undefined, 'use a model whose tokenizer does without it')
  try {
    const config = parseTokenizerConfig(files.config)
    const { bos_token, eos_token, pad_token } = config
    const parts = readableParts(withConfig(files.tokenizer, config, files.modelType, refuse), refuse)
    // For a vocabulary of words the library takes the unknown token from this config.
    const unk_token = config.unk_token ?? (parts.model as { unk_token?: string }).unk_token
    // With more keys the library would do more than AutoTokenizer, and return other ids.
    const inner = new HuggingFaceTokenizer(parts, { bos_token, eos_token, unk_token, pad_token })
    return { inner, config, parts }
  } catch (cause) {
    if (cause instanceof RlError) throw cause
    if (!(cause instanceof ZodError))
      throw unusable(source, cause instanceof Error ? cause.message : String(cause), cause)
    const { path, message } = firstIssue(cause)
    throw unusable(source, `${path.join('.') || 'the tokenizer'}: ${message}`, cause)
  }
}

/** Clients of a server may read this error, so it names no folder. */
function refusedChat(why: string, cause?: unknown, hint?: string): RlError {
  return new RlError(why, {
    code: 'model.tokenizer',
    hint: hint ?? "the model's template refuses this chat: change the roles, their order or their content",
    cause,
  })
}

function unusable(source: string, message: string, cause?: unknown, hint?: string): RlError {
  return new RlError(`${source}: ${message}`, {
    code: 'model.tokenizer',
    hint: hint ?? 'the folder needs the tokenizer.json and tokenizer_config.json of its model',
    cause,
  })
}
