/**
 * White space of the tokenizers library: Rust's `char::is_whitespace`, with U+0085 and without U+FEFF. JavaScript's
 * `\s` and `trim` differ in both. The JavaScript library uses them in places that no tokenizer.json can change.
 */

const LEADING = /^\p{White_Space}+/u
const TRAILING = /\p{White_Space}+$/u

/** Returns a pattern whose `\s` means Rust's white space, outside and inside of classes. */
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

/** Changes a tokenizer of the library in place: how ByteLevel cuts, and which white space added tokens take. */
export function useRustSpace(tokenizer: object): void {
  const inner = tokenizer as Inner
  cutBySpace(inner.pre_tokenizer)
  const added = new Map(inner.added_tokens_map)
  // The library would take other white space here.
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

/** Returns pieces of a text without the white space that the added tokens among them take. */
function stripped(pieces: readonly string[], added: ReadonlyMap<string, Added>): string[] {
  const isText = (piece: string | undefined) => piece !== undefined && !added.has(piece)
  return pieces.map((piece, i) => {
    if (!isText(piece)) return piece
    const left = added.get(pieces[i - 1])?.rstrip ? piece.replace(LEADING, '') : piece
    return added.get(pieces[i + 1])?.lstrip ? left.replace(TRAILING, '') : left
  })
}
