/** Takes the next token and gives the text that has become certain through it. */
export type GrowingText = (token: number) => string

/** Tokens that an unfinished character of four bytes may have, each with one of them. */
const UNFINISHED = 3

/**
 * Text of a growing token sequence: each token is decoded with those around it that its text may depend on, not with all that were
 * before. An unfinished character at the end (tokens of byte-level vocabularies hold parts of UTF-8) is told when it is whole.
 */
export function growingText(decode: (tokens: readonly number[]) => string): GrowingText {
  /** Tokens whose text is known, as what stands before the open ones: those may still change theirs. */
  let known: readonly number[] = []
  let start = 0
  let open: number[] = []
  /** Characters of the open tokens' text that were told. */
  let told = 0

  function settle(tokens: readonly number[], left: number[], toldOfLeft: number): void {
    known = tokens
    start = decode(known).length
    open = left
    told = toldOfLeft
  }

  return function grown(token) {
    open.push(token)
    const text = decode([...known, ...open]).slice(start)
    const certain = Math.max(told, text.length - (/\uFFFD+$/.exec(text)?.[0].length ?? 0))
    const piece = text.slice(told, certain)
    told = certain
    if (text === '' && known.length > 0) open = []
    else if (certain === text.length && text !== '') settle(open, [], 0)
    else if (open.length > 2 * UNFINISHED) {
      // Bytes that are no characters: what stands before the last, which may become one, stays as it is.
      for (let count = UNFINISHED; count > 0; count--) {
        const [before, last] = [open.slice(0, -count), open.slice(-count)]
        const head = decode([...known, ...before]).slice(start)
        const tail = decode(last)
        if (tail === '' || head + tail !== text) continue
        settle(before, last, Math.max(0, certain - head.length))
        return piece + head.slice(certain)
      }
    }
    return piece
  }
}
