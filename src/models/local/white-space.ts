/**
 * White space as the tokenizers library in Rust defines it: `char::is_whitespace`, with U+0085 and without U+FEFF. JavaScript's `\s` and
 * `trim` differ in both. The library that runs tokenizers here uses them in places that no tokenizer.json can name.
 */

const LEADING = /^\p{White_Space}+/u
const TRAILING = /\p{White_Space}+$/u

/** Returns a pattern whose `\s` and `\S` have Rust's meaning, outside of classes and within them. */
export function withRustSpace(pattern: string): string {
  return pattern.replace(/\\([\s\S])/g, (whole, name: string) =>
    name === 's' ? '\\p{White_Space}' : name === 'S' ? '\\P{White_Space}' : whole,
  )
}

type Added = { readonly lstrip?: boolean; readonly rstrip?: boolean }
type Splitter = { split: (text: string) => string[] }
type Cutting = {
  readonly config?: { readonly type?: string }
  readonly tokenizers?: readonly (Cutting | null)[]
  pattern?: RegExp
}
type Inner = {
  readonly pre_tokenizer?: Cutting | null
  readonly added_tokens_map: Map<string, Added>
  readonly splitter_unnormalized: Splitter
  readonly splitter_normalized: Splitter
}

/** Changes a tokenizer of the library in place: how ByteLevel cuts, and which white space added tokens remove around them. */
export function useRustSpace(tokenizer: object): void {
  const inner = tokenizer as Inner
  cutBySpace(inner.pre_tokenizer)
  const added = new Map(inner.added_tokens_map)
  // The library's own removal uses another set of characters.
  for (const [text, token] of added)
    inner.added_tokens_map.set(text, Object.assign(Object.create(token), { lstrip: false, rstrip: false }))
  for (const splitter of [inner.splitter_unnormalized, inner.splitter_normalized]) {
    const split = splitter.split.bind(splitter)
    splitter.split = (text) => stripped(split(text), added)
  }
}

function cutBySpace(cutting: Cutting | null | undefined): void {
  if (!cutting) return
  for (const inner of cutting.tokenizers ?? []) cutBySpace(inner)
  if (cutting.config?.type === 'ByteLevel' && cutting.pattern)
    cutting.pattern = new RegExp(withRustSpace(cutting.pattern.source), cutting.pattern.flags)
}

/** Returns the pieces of a text without the white space that added tokens among them remove. */
function stripped(pieces: readonly string[], added: ReadonlyMap<string | undefined, Added>): string[] {
  return pieces.map((piece, i) => {
    if (added.has(piece)) return piece
    const left = added.get(pieces[i - 1])?.rstrip ? piece.replace(LEADING, '') : piece
    return added.get(pieces[i + 1])?.lstrip ? left.replace(TRAILING, '') : left
  })
}
