/** tokenizer_config.json: names of special tokens, chat templates, and changes to tokenizer.json. */

import { z } from 'zod'
import { ownValue } from '../../own-value.ts'
import { safeParse } from '../../safe-parse.ts'
import { byName } from '../names.ts'
import { readByClass } from './tokenizer-class.ts'
import type { RefusePart } from './tokenizer-parts.ts'

const special = z.union([z.string(), z.object({ content: z.string() }).transform(({ content }) => content)])
const specials = z
  .union([z.array(special), byName(special).transform((named) => Object.values(named))])
  .nullish()
const flags = {
  lstrip: z.boolean().default(false),
  rstrip: z.boolean().default(false),
  single_word: z.boolean().default(false),
  special: z.boolean().default(false),
  normalized: z.boolean().optional(),
}
const CORRUPTING = 'clean_up_tokenization_spaces_for_bpe_even_though_it_will_corrupt_output'
const configSchema = z.looseObject({
  bos_token: special.nullish(),
  eos_token: special.nullish(),
  unk_token: special.nullish(),
  pad_token: special.nullish(),
  chat_template: z
    .union([z.string(), z.array(z.object({ name: z.string(), template: z.string() }))])
    .nullish(),
  added_tokens_decoder: byName(z.object({ content: z.string(), ...flags })).optional(),
  additional_special_tokens: specials,
  extra_special_tokens: specials,
  clean_up_tokenization_spaces: z.boolean().nullish(),
  [CORRUPTING]: z.boolean().nullish(),
  split_special_tokens: z.boolean().nullish(),
  tokenizer_class: z.string().nullish(),
  add_prefix_space: z.boolean().nullish(),
  legacy: z.boolean().nullish(),
})
export type TokenizerConfig = z.infer<typeof configSchema>

/** @throws ZodError with the name of the key */
export function parseTokenizerConfig(json: unknown): TokenizerConfig {
  return configSchema.parse(json)
}

/** Returns the texts of all tokens with a name of their own (`bos_token`, `image_token`, ...). */
export function namedTokens(config: TokenizerConfig): Readonly<Record<string, string>> {
  const named = Object.entries(config).filter(([key]) => key.endsWith('_token'))
  return Object.fromEntries(
    named.flatMap(([key, value]) => {
      const { success, data } = safeParse(special, value)
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
 * Returns tokenizer.json with the changes of tokenizer_config.json: cut by its class, with the added tokens that stay whole in a text.
 * As in AutoTokenizer, the tokens around a text come from tokenizer.json alone (`add_bos_token` changes nothing).
 * @param modelType `model_type` of config.json, if that file exists
 * @throws the error of `refuse`, or ZodError
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

/** Checks the ids of added tokens. transformers ignores the file's ids: it uses the vocabulary's id, else the next free one. */
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

/** A rebuilt tokenizer has only the added tokens that the config names, if it names any. */
function checkTold({ added_tokens }: Parsed, config: TokenizerConfig, refuse: RefusePart): void {
  const told = config.added_tokens_decoder
  const left = told && added_tokens.find(({ id, content }) => told[id]?.content !== content)
  if (left) throw refuse(`added_tokens_decoder without '${left.content}' of tokenizer.json`)
}

/** @param plain whether named tokens take no white space around them, whatever the files say: the class adds them once more */
function addedTokens(
  { added_tokens, model }: Parsed,
  config: TokenizerConfig,
  plain: boolean,
  refuse: RefusePart,
) {
  const tokens = new Map(added_tokens.map((token) => [token.content, token]))
  const vocabulary = (model.vocab ?? {}) as Readonly<Record<string, number>>
  const idOf = (content: string) => ownValue(vocabulary, content)
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
    // transformers would add it behind the vocabulary, and the model has no row there.
    if (id === undefined) throw refuse(`${key}: '${content}', which tokenizer.json has not,`)
    tokens.set(content, { ...flagsSchema.parse({}), id, content, special: true, normalized: false })
  }
  return [...tokens.values()]
}

const flagsSchema = z.object(flags)

/**
 * Returns tokens named by a key (`eos_token`, `image_token`, ...) and tokens of a list, each with its key. The newer list replaces the
 * older.
 */
function specialTokens(config: TokenizerConfig): (readonly [key: string, content: string])[] {
  const list = config.extra_special_tokens?.length ? 'extra_special_tokens' : 'additional_special_tokens'
  const listed = (config[list] ?? []).map((content) => [list, content] as const)
  return [...Object.entries(namedTokens(config)), ...listed].filter(([, content]) => content !== '')
}
