/** Takes the next token and returns the text that it makes certain. */
export type GrowingText = (token: number) => string

/** Most tokens of an unfinished character. It has four bytes, each of which may be a token. */
const UNFINISHED = 3

/**
 * Returns the text of a growing token sequence, piece by piece. A token is decoded with the neighbours that its text
 * may depend on, not with all earlier tokens. Tokens of byte-level vocabularies hold parts of UTF-8. So an unfinished
 * character at the end waits until it is whole.
 */
export function growingText(decode: (tokens: readonly number[]) => string): GrowingText {
  /** Tokens before the open ones, whose text is final. The text of open tokens may still change. */
  let known: readonly number[] = []
  let start = 0
  let open: number[] = []
  /** Number of characters of the open tokens' text that were returned. */
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
      // These bytes are no characters. The last ones may become a character. The text before them is final.
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
