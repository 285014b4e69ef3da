/**
 * Translates a tokenizer.json for the tokenizer library. The library knows every part by name but reads some only partly, e.g. how a
 * split treats its matches, or what counts as a digit. Such parts are rewritten in forms that it reads completely. A part without such
 * a form is refused: ids that are almost right would be a silent error.
 */

import { z } from 'zod'
import { ownValue } from '../../own-value.ts'
import { firstIssue, safeParse } from '../../safe-parse.ts'
import { byName } from '../names.ts'

type Part = Readonly<Record<string, unknown>>

/** Returns the error for a part that is not implemented, by its name in the file. */
export type RefusePart = (what: string) => Error

const part = byName(z.unknown())
const parts = z.array(part)

/** Pattern by which GPT-2 cuts text. `ByteLevel` uses it with `use_regex`. */
const GPT2 = "'(?:[sdmt]|ll|ve|re)| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+"
const PUNCTUATION = '[\\p{P}!-/:-@\\[-`{-~]'

/** Returns the parts to run. The file's own parts stay unchanged for exports. @throws the error of `refuse` */
export function readableParts(tokenizer: Part, refuse: RefusePart): Part {
  checkModel(tokenizer.model, refuse)
  checkAround(tokenizer, refuse)
  return {
    ...tokenizer,
    normalizer: normalizer(tokenizer.normalizer, refuse),
    pre_tokenizer: preTokenizer(tokenizer.pre_tokenizer, refuse),
    decoder: decoder(tokenizer.decoder),
  }
}

const modelSchema = z.looseObject({
  type: z.enum(['BPE', 'WordPiece', 'WordLevel', 'Unigram']).optional(),
  dropout: z.number().nullish(),
  continuing_subword_prefix: z.string().nullish(),
  byte_fallback: z.boolean().nullish(),
  unk_token: z.string().nullish(),
})

/** No vocabulary has so high an id. A table of all ids is made. */
const ID_LIMIT = 2 ** 24
const ids = byName(z.int().nonnegative().max(ID_LIMIT))
const merges = z.array(z.union([z.string().transform((text) => text.split(' ')), z.array(z.string())]))

function checkModel(given: unknown, refuse: RefusePart): void {
  const parsed = safeParse(modelSchema, given)
  if (!parsed.success) {
    const { path, message } = firstIssue(parsed.error)
    throw refuse(`${['model', ...path].join('.')}: ${message}`)
  }
  const { type, dropout, continuing_subword_prefix, byte_fallback, unk_token } = parsed.data
  if (dropout) throw refuse(`model.dropout: ${dropout}`)
  if (type === 'BPE' && continuing_subword_prefix)
    throw refuse(`model.continuing_subword_prefix: '${continuing_subword_prefix}'`)
  if (type === 'Unigram' && byte_fallback) throw refuse('model.byte_fallback of Unigram')
  if (type === 'Unigram') return
  const vocabulary = safeParse(ids, parsed.data.vocab)
  if (!vocabulary.success) {
    const { path, message } = firstIssue(vocabulary.error)
    throw refuse(`${['model.vocab', ...path].join('.')}: ${message}`)
  }
  const has = (token: string) => Object.hasOwn(vocabulary.data, token)
  if (type === 'WordLevel' && unk_token != null && !has(unk_token))
    throw refuse(`model.unk_token: '${unk_token}' outside of the vocabulary`)
  if (type === 'BPE') checkMerges(parsed.data.merges, has, refuse)
}

/** A merge into a token outside the vocabulary would drop its text. */
function checkMerges(given: unknown, has: (token: string) => boolean, refuse: RefusePart): void {
  const parsed = safeParse(merges, given)
  if (!parsed.success) throw refuse('model.merges: what is no list of pairs')
  for (const pair of parsed.data) {
    const missing = [...pair, pair.join('')].find((token) => !has(token))
    if (pair.length !== 2 || missing !== undefined)
      throw refuse(`model.merges: '${pair.join(' ')}', with '${missing ?? pair}' outside of the vocabulary`)
  }
}

const addedSchema = z.array(z.looseObject({ id: z.int().nonnegative().max(ID_LIMIT), content: z.string() }))
const aroundSchema = z.looseObject({
  special_tokens: byName(z.looseObject({ ids: z.array(z.int()) })),
})

/** Tokens around a text are found by name, but the file also has their ids. */
function checkAround(tokenizer: Part, refuse: RefusePart): void {
  const added = safeParse(addedSchema, tokenizer.added_tokens ?? [])
  if (!added.success) throw refuse(`added_tokens.${firstIssue(added.error).path.join('.')}: such an id`)
  const vocabulary = (tokenizer.model as { vocab?: Readonly<Record<string, unknown>> }).vocab ?? {}
  const around = safeParse(part, tokenizer.post_processor).data
  for (const one of [around, ...(safeParse(parts, around?.processors).data ?? [])]) {
    if (one?.type !== 'TemplateProcessing') continue
    for (const [name, { ids: own }] of Object.entries(
      safeParse(aroundSchema, one).data?.special_tokens ?? {},
    )) {
      const id = added.data.find(({ content }) => content === name)?.id ?? ownValue(vocabulary, name)
      if (own.length !== 1 || own[0] !== id)
        throw refuse(`post_processor TemplateProcessing: '${name}' with the ids ${JSON.stringify(own)}`)
    }
  }
}

function normalizer(given: unknown, refuse: RefusePart): unknown {
  const { data: one } = safeParse(part, given)
  if (!one) return given
  if (one.type === 'Precompiled') throw refuse('normalizer Precompiled')
  if (one.type === 'Replace') return literalContent(one)
  if (one.type === 'Strip') return stripping(one)
  const inner = safeParse(parts, one.normalizers).data
  return inner ? { ...one, normalizers: inner.map((each) => normalizer(each, refuse)) } : one
}

/** Removes white space at the ends by patterns. The library's own strip uses JavaScript's white space. */
function stripping({ strip_left, strip_right }: Part): Part | null {
  const ends = [...(strip_left ? ['\\A\\s+'] : []), ...(strip_right ? ['\\s+\\z'] : [])]
  return ends.length === 0 ? null : { type: 'Replace', pattern: { Regex: ends.join('|') }, content: '' }
}

function decoder(given: unknown): unknown {
  const { data: one } = safeParse(part, given)
  if (!one) return given
  if (one.type === 'Replace') return literalContent(one)
  const inner = safeParse(parts, one.decoders).data
  return inner ? { ...one, decoders: inner.map(decoder) } : one
}

/** `$&` and the like have no meaning in these files. */
function literalContent(one: Part): Part {
  return typeof one.content === 'string' ? { ...one, content: one.content.replaceAll('$', '$$$$') } : one
}

function preTokenizer(given: unknown, refuse: RefusePart): unknown {
  const { data: one } = safeParse(part, given)
  if (!one) return given
  switch (one.type) {
    case 'Sequence':
      return {
        ...one,
        pretokenizers: (safeParse(parts, one.pretokenizers).data ?? []).map((each) =>
          preTokenizer(each, refuse),
        ),
      }
    case 'ByteLevel':
      if (one.use_regex === false || one.add_prefix_space === true) return one
      return sequence(split(GPT2, 'Isolated'), { ...one, use_regex: false })
    case 'BertPreTokenizer':
      return sequence(split('\\s+', 'Removed'), split(PUNCTUATION, 'Isolated'))
    case 'Digits':
      return split('\\p{N}', one.individual_digits === true ? 'Isolated' : 'Contiguous')
    case 'Punctuation':
      return split(PUNCTUATION, behaviorOf(one, refuse, 'Isolated'))
    case 'Whitespace':
      return { ...split('\\w+|[^\\w\\s]+', 'Removed'), invert: true }
    case 'WhitespaceSplit':
      return split('\\s+', 'Removed')
    case 'Metaspace':
      return metaspace(one, refuse)
    case 'Split':
      return ownSplit(one, refuse)
    case 'FixedLength':
      throw refuse('pre_tokenizer FixedLength')
    default:
      return one
  }
}

/** Turns spaces into U+2581. Each begins a piece unless `split` is false. */
function metaspace(one: Part, refuse: RefusePart): Part {
  const { replacement = '\u2581', prepend_scheme = 'always', split: cuts = true, add_prefix_space } = one
  if (add_prefix_space === false && prepend_scheme !== 'never')
    throw refuse('pre_tokenizer Metaspace with add_prefix_space: false')
  const replaced = { type: 'Metaspace', replacement, prepend_scheme }
  return cuts === false ? replaced : sequence(replaced, split(literal(String(replacement)), 'MergedWithNext'))
}

const patternSchema = z.union([
  z.strictObject({ Regex: z.string() }).transform(({ Regex }) => Regex),
  z.strictObject({ String: z.string() }).transform(({ String: text }) => literal(text)),
])

/** The library would keep the text of a captured group. */
const CAPTURES = /(?<!\\)\((?!\?)/

/** Possessive quantifiers and atomic groups, which the library reads as ordinary ones. Escapes and classes contain none. */
const KEEPS = /[?*+]\+|\(\?>/
const readsOtherwise = (pattern: string) =>
  KEEPS.test(pattern.replace(/\\./gs, 'x').replace(/\[[^\]]*\]/g, 'x'))

function ownSplit(one: Part, refuse: RefusePart): Part {
  const { data: pattern } = safeParse(patternSchema, one.pattern)
  if (pattern === undefined) throw refuse('pre_tokenizer Split: its pattern')
  if (readsOtherwise(pattern)) throw refuse('pre_tokenizer Split: a possessive quantifier or an atomic group')
  const behavior = behaviorOf(one, refuse)
  if (one.invert !== true || behavior === 'Isolated') {
    if (behavior === 'Removed' && CAPTURES.test(pattern))
      throw refuse('pre_tokenizer Split: Removed with groups')
    return split(pattern, behavior)
  }
  if (behavior !== 'Removed') throw refuse(`pre_tokenizer Split: ${behavior} with invert`)
  return { ...split(pattern, behavior), invert: true }
}

const BEHAVIORS = ['Removed', 'Isolated', 'MergedWithPrevious', 'MergedWithNext', 'Contiguous'] as const
type Behavior = (typeof BEHAVIORS)[number]

function behaviorOf({ type, behavior }: Part, refuse: RefusePart, standard?: Behavior): Behavior {
  const told = behavior ?? standard
  const known = BEHAVIORS.find((one) => one.toLowerCase() === String(told).toLowerCase())
  if (!known) throw refuse(`pre_tokenizer ${String(type)}: behavior ${JSON.stringify(told)}`)
  return known
}

/** Returns one cut by matches alone. The library turns the matches of a pattern, and the texts between them, into pieces. */
function split(pattern: string, behavior: Behavior): Part {
  const between = `(?:(?!${pattern})[\\s\\S])`
  const matches: Readonly<Record<Behavior, string>> = {
    Removed: pattern,
    Isolated: pattern,
    MergedWithPrevious: `${between}*(?:${pattern})|${between}+`,
    MergedWithNext: `(?:${pattern})${between}*|${between}+`,
    Contiguous: `(?:${pattern})+|${between}+`,
  }
  return {
    type: 'Split',
    pattern: { Regex: matches[behavior] },
    behavior: behavior === 'Removed' ? 'Removed' : 'Isolated',
    invert: false,
  }
}

function sequence(...pretokenizers: Part[]): Part {
  return { type: 'Sequence', pretokenizers }
}

function literal(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
}
