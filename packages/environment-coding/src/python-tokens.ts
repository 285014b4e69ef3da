/** Reads the tokens of Python literals from a text: marks, words, numbers and the bodies of strings. */

const PREFIX = /[uUrRbB]{0,2}(?=['"])/y
const WORD = /[A-Za-z_]\w*/y
const NUMBER =
  /[+-]?\s*(0[xX][\da-fA-F_]+|0[oO][0-7_]+|0[bB][01_]+|(?:\d[\d_]*\.?[\d_]*|\.\d[\d_]*)(?:[eE][+-]?\d+)?)[jJ]?/y

export type Tokens = {
  /** Goes on behind white space and backslashes. */
  readonly skip: () => void
  /** Takes a mark if it comes next, behind white space. */
  readonly accept: (mark: string) => boolean
  /** @throws SyntaxError if the mark does not come next */
  readonly expect: (mark: string) => void
  /** Takes a name, or returns null. */
  readonly word: () => string | null
  /** Takes the prefix of a string that begins here, which may be empty, or returns null. */
  readonly prefix: () => string | null
  /**
   * Takes the text between quotes, found in one pass.
   *
   * @throws SyntaxError if the string has no end
   */
  readonly quoted: () => string
  /** Takes a number as it is written. @throws SyntaxError if there is none */
  readonly number: () => string
  readonly peek: () => string | undefined
  readonly place: () => number
  /** Goes back to a place. */
  readonly goTo: (place: number) => void
  /** Whether nothing but white space is left. */
  readonly atEnd: () => boolean
}

export function readTokens(source: string, start = 0): Tokens {
  let at = start

  function take(pattern: RegExp): RegExpExecArray | null {
    pattern.lastIndex = at
    const found = pattern.exec(source)
    if (found) at += found[0].length
    return found
  }

  function skip(): void {
    while (/[\s\\]/.test(source[at] ?? '')) at++
  }

  function accept(mark: string): boolean {
    skip()
    if (!source.startsWith(mark, at)) return false
    at += mark.length
    return true
  }

  return {
    skip,
    accept,
    expect(mark) {
      if (!accept(mark)) throw new SyntaxError(`expected ${mark}`)
    },
    word: () => take(WORD)?.[0] ?? null,
    prefix: () => take(PREFIX)?.[0] ?? null,
    quoted() {
      const quote = source.charAt(at)
      const marks = source.startsWith(quote.repeat(3), at) ? quote.repeat(3) : quote
      const begun = at + marks.length
      for (let i = begun; i < source.length; i++) {
        if (source[i] === '\\') i++
        else if (marks.length === 1 && source[i] === '\n') break
        else if (source.startsWith(marks, i)) {
          at = i + marks.length
          return source.slice(begun, i)
        }
      }
      throw new SyntaxError('a string without an end')
    },
    number() {
      const found = take(NUMBER)
      if (!found || found[1] === '.') throw new SyntaxError('not a literal')
      return found[0]
    },
    peek: () => source[at],
    place: () => at,
    goTo(place) {
      at = place
    },
    atEnd() {
      skip()
      return at === source.length
    },
  }
}
