/** Texts of a policy's tokens, from the tokenizer beside its weights. Nothing of the user's is run for it. */
import { statSync } from 'node:fs'
import { isAbsolute, join, relative } from 'node:path'
import { runFolder } from '../../broker/connection.ts'
import type { LoggedEvent } from '../../events/catalogue.ts'
import type { LogReader } from '../../events/log-reader.ts'
import { readTextSync } from '../../text-file.ts'

/** Returns the text of a token, or null if it has none. */
export type TokenTexts = (token: number) => string | null

/** Larger files are not read: the page server stays small. */
const MOST_BYTES = 16 * 1024 * 1024
/** Tokenizers that are kept. All versions of a run have the same one mostly. */
const KEPT = 2

type Kept = { readonly key: string; readonly texts: TokenTexts }
const kept: Kept[] = []

const NONE: TokenTexts = () => null

/** Returns the texts of the tokens of a version. Without a tokenizer that can be read, no token has a text. */
export function tokenTexts(log: LogReader, version: number): TokenTexts {
  const folder = checkpointOf(log, version)
  if (folder === null) return NONE
  const path = join(folder, 'tokenizer.json')
  try {
    const state = statSync(path)
    const { size, mtimeMs, ino } = state
    if (!state.isFile() || size > MOST_BYTES) return NONE
    const key = `${path} ${ino} ${size} ${mtimeMs}`
    const known = kept.find((one) => one.key === key)
    if (known) return known.texts
    const texts = textsOf(JSON.parse(readTextSync(path)))
    kept.push({ key, texts })
    if (kept.length > KEPT) kept.shift()
    return texts
  } catch {
    // A checkpoint may be gone, or be damaged. The page shows ids then.
    return NONE
  }
}

/** The folder with the weights of a version: its own, or that of an earlier version if they did not change. */
function checkpointOf(log: LogReader, version: number): string | null {
  let found: LoggedEvent<'PolicyUpdated'> | null = null
  for (let until = log.head().position; until > 0; ) {
    const event = log.newest(['PolicyUpdated'], until)
    if (event?.type !== 'PolicyUpdated') break
    if (event.data.version <= version && event.data.checkpoint !== null) {
      found = event as LoggedEvent<'PolicyUpdated'>
      break
    }
    until = event.position - 1
  }
  if (found?.data.checkpoint == null) return null
  const { folder } = runFolder(found.run)
  const inner = join(folder, found.data.checkpoint.path)
  // Events of older versions could name any path.
  const isOutside =
    isAbsolute(found.data.checkpoint.path) || relative(folder, inner).split(/[\\/]/)[0] === '..'
  return isOutside ? null : inner
}

type Json = Readonly<Record<string, unknown>>

/**
 * Returns the texts of a tokenizer.json. Its vocabulary is an object of ids by text, or a list of texts.
 * @example textsOf({ model: { vocab: { go: 7 } } })(7) // 'go'
 */
export function textsOf(tokenizer: unknown): TokenTexts {
  const { model, added_tokens: added, decoder } = record(tokenizer)
  const texts = new Map<number, string>()
  const vocabulary = record(model).vocab
  if (Array.isArray(vocabulary))
    for (const [id, entry] of vocabulary.entries())
      if (Array.isArray(entry) && typeof entry[0] === 'string') texts.set(id, entry[0])
  if (!Array.isArray(vocabulary))
    for (const [text, id] of Object.entries(record(vocabulary)))
      if (typeof id === 'number') texts.set(id, text)
  const shown = JSON.stringify(decoder ?? null).includes('"ByteLevel"') ? fromBytes : fromPiece
  const special = new Map<number, string>()
  for (const entry of Array.isArray(added) ? added : []) {
    const { id, content } = record(entry)
    if (typeof id === 'number' && typeof content === 'string') special.set(id, content)
  }
  return (token) => {
    const own = special.get(token)
    if (own !== undefined) return own
    const text = texts.get(token)
    return text === undefined ? null : shown(text)
  }
}

function record(value: unknown): Json {
  return typeof value === 'object' && value !== null ? (value as Json) : {}
}

/** SentencePiece writes a space as U+2581, WordPiece begins what continues a word with `##`. */
function fromPiece(text: string): string {
  return text.replaceAll('\u2581', ' ')
}

/** Byte-level vocabularies write each byte as a character. Bytes of a part of a character stay as they are. */
function fromBytes(text: string): string {
  const bytes = [...text].map((letter) => BYTES.get(letter))
  if (bytes.includes(undefined)) return text
  const read = Buffer.from(bytes as number[]).toString('utf8')
  return read.includes('\ufffd') ? text : read
}

/** The bytes by the characters that GPT-2's vocabulary has for them. */
const BYTES: ReadonlyMap<string, number> = (() => {
  const own = (byte: number) =>
    (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || (byte >= 174 && byte <= 255)
  const bytes = Array.from({ length: 256 }, (_, byte) => byte)
  const other = bytes.filter((byte) => !own(byte))
  return new Map(
    bytes.map((byte) => [String.fromCodePoint(own(byte) ? byte : 256 + other.indexOf(byte)), byte]),
  )
})()
