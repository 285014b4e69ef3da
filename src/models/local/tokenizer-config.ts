/** tokenizer_config.json: the names of special tokens, the chat templates, and what it changes in tokenizer.json. */
import { z } from 'zod'
import type { RefusePart } from './tokenizer-parts.ts'

const special = z.union([z.string(), z.object({ content: z.string() }).transform(({ content }) => content)])
const flags = {
  ...{ lstrip: z.boolean().default(false), rstrip: z.boolean().default(false) },
  ...{ single_word: z.boolean().default(false), special: z.boolean().default(false) },
  normalized: z.boolean().optional(),
}
const configSchema = z.object({
  ...{ bos_token: special.nullish(), eos_token: special.nullish() },
  ...{ unk_token: special.nullish(), pad_token: special.nullish() },
  chat_template: z
    .union([z.string(), z.array(z.object({ name: z.string(), template: z.string() }))])
    .nullish(),
  /** Where one of them is told, they stand for tokenizer.json's post-processor. */
  ...{ add_bos_token: z.boolean().nullish(), add_eos_token: z.boolean().nullish() },
  added_tokens_decoder: z.record(z.string(), z.object({ content: z.string(), ...flags })).optional(),
  clean_up_tokenization_spaces: z.boolean().nullish(),
})
export type TokenizerConfig = z.infer<typeof configSchema>

/** @throws ZodError that names the key */
export function parseTokenizerConfig(json: unknown): TokenizerConfig {
  return configSchema.parse(json)
}

const tokenizerSchema = z.looseObject({
  added_tokens: z.array(z.object({ id: z.int().nonnegative(), content: z.string(), ...flags })),
  model: z.looseObject({ type: z.string().optional(), unk_token: z.string().nullish() }),
})

type Parsed = z.infer<typeof tokenizerSchema>

/**
 * tokenizer.json with what tokenizer_config.json says of it: tokens that stand whole in a text, and what is put around one.
 * Errors: of `refuse`, and ZodError.
 */
export function withConfig(
  json: Readonly<Record<string, unknown>>,
  config: TokenizerConfig,
  refuse: RefusePart,
): Readonly<Record<string, unknown>> {
  const tokenizer = tokenizerSchema.parse(json)
  if (config.clean_up_tokenization_spaces && tokenizer.model.type === 'WordPiece')
    throw refuse('clean_up_tokenization_spaces of WordPiece')
  const added_tokens = addedTokens(tokenizer, config, refuse)
  const alone = added_tokens.find(({ single_word }) => single_word)
  if (alone) throw refuse(`added token '${alone.content}': single_word`)
  return { ...json, added_tokens, post_processor: postProcessor(tokenizer, config) }
}

function addedTokens(
  { added_tokens, model }: Parsed,
  { added_tokens_decoder = {} }: TokenizerConfig,
  refuse: RefusePart,
): Parsed['added_tokens'] {
  const tokens = new Map(added_tokens.map((token) => [token.content, token]))
  const vocabulary = model.vocab as Readonly<Record<string, unknown>> | undefined
  for (const [key, token] of Object.entries(added_tokens_decoder)) {
    const { content } = token
    if (tokens.has(content)) continue
    const id = vocabulary && Object.hasOwn(vocabulary, content) ? vocabulary[content] : undefined
    if (id !== Number(key))
      throw refuse(`added_tokens_decoder.${key}: '${content}', which tokenizer.json has not at that place`)
    tokens.set(content, { ...token, id: Number(key) })
  }
  return [...tokens.values()]
}

function postProcessor({ post_processor }: Parsed, config: TokenizerConfig): unknown {
  const { add_bos_token, add_eos_token, bos_token, eos_token } = config
  if (add_bos_token === undefined && add_eos_token === undefined) return post_processor
  const put = (token: string | null | undefined, wanted: boolean | null | undefined) =>
    wanted && token != null ? [{ SpecialToken: { id: token, type_id: 0 } }] : []
  const single = [
    ...put(bos_token, add_bos_token),
    { Sequence: { id: 'A', type_id: 0 } },
    ...put(eos_token, add_eos_token),
  ]
  return { type: 'TemplateProcessing', single, pair: single, special_tokens: {} }
}
