/** tokenizer_config.json: the names of special tokens, the chat templates, and what it changes in tokenizer.json. */
import { z } from 'zod'
import type { RefusePart } from './tokenizer-parts.ts'

const special = z.union([z.string(), z.object({ content: z.string() }).transform(({ content }) => content)])
const specials = z
  .union([z.array(special), z.record(z.string(), special).transform((named) => Object.values(named))])
  .nullish()
const flags = {
  ...{ lstrip: z.boolean().default(false), rstrip: z.boolean().default(false) },
  ...{ single_word: z.boolean().default(false), special: z.boolean().default(false) },
  normalized: z.boolean().optional(),
}
const configSchema = z.looseObject({
  ...{ bos_token: special.nullish(), eos_token: special.nullish() },
  ...{ unk_token: special.nullish(), pad_token: special.nullish() },
  chat_template: z
    .union([z.string(), z.array(z.object({ name: z.string(), template: z.string() }))])
    .nullish(),
  added_tokens_decoder: z.record(z.string(), z.object({ content: z.string(), ...flags })).optional(),
  ...{ additional_special_tokens: specials, extra_special_tokens: specials },
  clean_up_tokenization_spaces: z.boolean().nullish(),
  split_special_tokens: z.boolean().nullish(),
  add_prefix_space: z.boolean().nullish(),
})
export type TokenizerConfig = z.infer<typeof configSchema>

/** @throws ZodError that names the key */
export function parseTokenizerConfig(json: unknown): TokenizerConfig {
  return configSchema.parse(json)
}

/** The texts of all tokens that have a name of their own (`bos_token`, `image_token`, ...). */
export function namedTokens(config: TokenizerConfig): Readonly<Record<string, string>> {
  const named = Object.entries(config).filter(([key]) => key.endsWith('_token'))
  return Object.fromEntries(
    named.flatMap(([key, value]) => {
      const { success, data } = special.safeParse(value)
      return success ? [[key, data]] : []
    }),
  )
}

const tokenizerSchema = z.looseObject({
  added_tokens: z.array(z.object({ id: z.int().nonnegative(), content: z.string(), ...flags })),
  model: z.looseObject({ type: z.string().optional() }),
  pre_tokenizer: z.unknown(),
})

type Parsed = z.infer<typeof tokenizerSchema>

/**
 * tokenizer.json with the tokens that tokenizer_config.json adds to those that stand whole in a text: AutoTokenizer does so too, and
 * leaves what is put around a text to tokenizer.json (`add_bos_token` changes nothing). Errors: of `refuse`, and ZodError.
 */
export function withConfig(
  json: Readonly<Record<string, unknown>>,
  config: TokenizerConfig,
  refuse: RefusePart,
): Readonly<Record<string, unknown>> {
  const tokenizer = tokenizerSchema.parse(json)
  if (config.clean_up_tokenization_spaces && tokenizer.model.type === 'WordPiece')
    throw refuse('clean_up_tokenization_spaces of WordPiece')
  // Special tokens that stand in a text would be cut like any other text.
  if (config.split_special_tokens) throw refuse('split_special_tokens')
  if (config.add_prefix_space && JSON.stringify(tokenizer.pre_tokenizer ?? null).includes(NO_PREFIX_SPACE))
    throw refuse('add_prefix_space, where the pre-tokenizer of tokenizer.json adds none')
  const added_tokens = addedTokens(tokenizer, config, refuse)
  const alone = added_tokens.find(({ single_word }) => single_word)
  if (alone) throw refuse(`added token '${alone.content}': single_word`)
  return { ...json, added_tokens }
}

/** For models that it knows by name AutoTokenizer makes the pre-tokenizer anew, with the space. */
const NO_PREFIX_SPACE = '"add_prefix_space":false'

function addedTokens({ added_tokens, model }: Parsed, config: TokenizerConfig, refuse: RefusePart) {
  const tokens = new Map(added_tokens.map((token) => [token.content, token]))
  const vocabulary = (model.vocab ?? {}) as Readonly<Record<string, number>>
  const idOf = (content: string) => (Object.hasOwn(vocabulary, content) ? vocabulary[content] : undefined)
  for (const [key, token] of Object.entries(config.added_tokens_decoder ?? {})) {
    const { content } = token
    if (tokens.has(content)) continue
    if (idOf(content) !== Number(key))
      throw refuse(`added_tokens_decoder.${key}: '${content}', which tokenizer.json has not at that place`)
    tokens.set(content, { ...token, id: Number(key) })
  }
  for (const content of specialTokens(config)) {
    const id = idOf(content)
    if (tokens.has(content) || id === undefined) continue
    tokens.set(content, { ...flagsSchema.parse({}), id, content, special: true, normalized: false })
  }
  return [...tokens.values()]
}

const flagsSchema = z.object(flags)

/** Those that a key names (`eos_token`, also `image_token` and the like) and those of the lists. */
function specialTokens({
  additional_special_tokens,
  extra_special_tokens,
  ...config
}: TokenizerConfig): string[] {
  const named = Object.entries(config).flatMap(([key, value]) =>
    key.endsWith('_token') ? (special.safeParse(value).data ?? []) : [],
  )
  return [...named, ...(additional_special_tokens ?? []), ...(extra_special_tokens ?? [])]
}
