/** tokenizer_config.json: the names of special tokens, the chat templates, and what it changes in tokenizer.json. */
import { z } from 'zod'
import { byName } from '../names.ts'
import { readByClass } from './tokenizer-class.ts'
import type { RefusePart } from './tokenizer-parts.ts'

const special = z.union([z.string(), z.object({ content: z.string() }).transform(({ content }) => content)])
const specials = z
  .union([z.array(special), byName(special).transform((named) => Object.values(named))])
  .nullish()
const flags = {
  ...{ lstrip: z.boolean().default(false), rstrip: z.boolean().default(false) },
  ...{ single_word: z.boolean().default(false), special: z.boolean().default(false) },
  normalized: z.boolean().optional(),
}
const CORRUPTING = 'clean_up_tokenization_spaces_for_bpe_even_though_it_will_corrupt_output'
const configSchema = z.looseObject({
  ...{ bos_token: special.nullish(), eos_token: special.nullish() },
  ...{ unk_token: special.nullish(), pad_token: special.nullish() },
  chat_template: z
    .union([z.string(), z.array(z.object({ name: z.string(), template: z.string() }))])
    .nullish(),
  added_tokens_decoder: byName(z.object({ content: z.string(), ...flags })).optional(),
  ...{ additional_special_tokens: specials, extra_special_tokens: specials },
  clean_up_tokenization_spaces: z.boolean().nullish(),
  [CORRUPTING]: z.boolean().nullish(),
  split_special_tokens: z.boolean().nullish(),
  tokenizer_class: z.string().nullish(),
  ...{ add_prefix_space: z.boolean().nullish(), legacy: z.boolean().nullish() },
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
})

type Parsed = z.infer<typeof tokenizerSchema>

/**
 * tokenizer.json as tokenizer_config.json has it read: cut by its class, with the tokens that are added to those that stand whole in a
 * text. AutoTokenizer does so too, and leaves what is put around a text to tokenizer.json (`add_bos_token` changes nothing).
 * @param modelType of config.json, where there is one
 * Errors: of `refuse`, and ZodError.
 */
export function withConfig(
  json: Readonly<Record<string, unknown>>,
  config: TokenizerConfig,
  modelType: string | undefined,
  refuse: RefusePart,
): Readonly<Record<string, unknown>> {
  const { tokenizer: read, anew } = readByClass(json, config, modelType, refuse)
  const tokenizer = tokenizerSchema.parse(read)
  if (config.split_special_tokens) throw refuse('split_special_tokens: true')
  if (config.clean_up_tokenization_spaces && tokenizer.model.type === 'WordPiece')
    throw refuse('clean_up_tokenization_spaces of WordPiece')
  if (config.clean_up_tokenization_spaces && config[CORRUPTING]) throw refuse(`${CORRUPTING}: true`)
  if (modelType !== undefined) checkOrder(tokenizer, refuse)
  if (anew) checkTold(tokenizer, config, refuse)
  const added_tokens = addedTokens(tokenizer, config, anew === 'Qwen2Tokenizer', refuse)
  const alone = added_tokens.find(({ single_word }) => single_word)
  if (alone) throw refuse(`added token '${alone.content}': single_word`)
  return { ...read, added_tokens }
}

/** An added token has the id that the vocabulary gives it, else the next one, whatever the file says. */
function checkOrder({ added_tokens, model }: Parsed, refuse: RefusePart): void {
  const vocabulary = (model.vocab ?? {}) as Readonly<Record<string, number>>
  const size = Object.keys(vocabulary).length
  const moved = added_tokens.find(
    ({ content, id }) => Object.hasOwn(vocabulary, content) && vocabulary[content] !== id,
  )
  if (moved)
    throw refuse(`added token '${moved.content}' at ${moved.id}, which the vocabulary has elsewhere,`)
  const further = added_tokens.filter(({ content }) => !Object.hasOwn(vocabulary, content))
  const shifted = further.toSorted((a, b) => a.id - b.id).find(({ id }, index) => id !== size + index)
  if (shifted) throw refuse(`added token '${shifted.content}' at ${shifted.id}, which is not the next id,`)
}

/** A tokenizer that is built anew has those added tokens alone that the config names, where it names any. */
function checkTold({ added_tokens }: Parsed, config: TokenizerConfig, refuse: RefusePart): void {
  const told = config.added_tokens_decoder
  const left = told && added_tokens.find(({ id, content }) => told[id]?.content !== content)
  if (left) throw refuse(`added_tokens_decoder without '${left.content}' of tokenizer.json`)
}

/** @param plain whether tokens with a name take no space around them, whatever is told: that class adds them once more */
function addedTokens(
  { added_tokens, model }: Parsed,
  config: TokenizerConfig,
  plain: boolean,
  refuse: RefusePart,
) {
  const tokens = new Map(added_tokens.map((token) => [token.content, token]))
  const vocabulary = (model.vocab ?? {}) as Readonly<Record<string, number>>
  const idOf = (content: string) => (Object.hasOwn(vocabulary, content) ? vocabulary[content] : undefined)
  for (const [key, token] of Object.entries(config.added_tokens_decoder ?? {})) {
    const { content } = token
    if ((tokens.get(content)?.id ?? idOf(content)) !== Number(key))
      throw refuse(`added_tokens_decoder.${key}: '${content}', which tokenizer.json has not at that place`)
    tokens.set(content, { ...token, id: Number(key) })
  }
  for (const [key, content] of specialTokens(config)) {
    const known = tokens.get(content)
    const id = known?.id ?? idOf(content)
    if (known && !plain) continue
    // It would be added behind the vocabulary, where the model has no row for it.
    if (id === undefined) throw refuse(`${key}: '${content}', which tokenizer.json has not,`)
    tokens.set(content, { ...flagsSchema.parse({}), id, content, special: true, normalized: false })
  }
  return [...tokens.values()]
}

const flagsSchema = z.object(flags)

/** Those that a key names (`eos_token`, also `image_token` and the like) and those of a list, each with the key; the newer list stands for the older. */
function specialTokens(config: TokenizerConfig): (readonly [key: string, content: string])[] {
  const list = config.extra_special_tokens?.length ? 'extra_special_tokens' : 'additional_special_tokens'
  const listed = (config[list] ?? []).map((content) => [list, content] as const)
  return [...Object.entries(namedTokens(config)), ...listed].filter(([, content]) => content !== '')
}
