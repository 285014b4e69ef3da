/** Takes the next token and returns the text that has become certain through it. */
export type GrowingText = (token: number) => string

/** An unfinished character of four bytes may have this number of tokens, one for each byte. */
const UNFINISHED = 3

/**
 * Decodes a growing token sequence. Each token is decoded with the neighbours that may change its text, not with the whole sequence. An
 * unfinished character at the end is held back until it is complete: tokens of byte-level vocabularies may be parts of UTF-8.
 */
export function growingText(decode: (tokens: readonly number[]) => string): GrowingText {
  /** Tokens whose text is final. They precede the open tokens, whose text may still change. */
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
      // These bytes are no characters. The text before the last tokens, which may still become a character, is final.
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
