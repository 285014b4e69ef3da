/** Reads a pattern character by character. */
import { RlError } from 'rlanything/kit'

export type PatternReader = {
  /** Returns the next character without taking it, or the one so far behind it. Returns undefined at the end. */
  readonly peek: (behind?: number) => string | undefined
  /** Takes the next character. At the end the pattern is refused with the reason. */
  readonly next: (reasonAtEnd?: string) => string
  readonly isAhead: (text: string) => boolean
  /** Takes a text if it comes next. */
  readonly take: (text: string) => boolean
  /** Takes up to `most` characters that match. Returns null, and takes none, if there are fewer than `least`. */
  readonly digits: (base: RegExp, least: number, most: number) => string | null
  /** Takes all up to a character, and the character. Returns null, and takes none, if it does not come. */
  readonly upTo: (end: string) => string | null
  /** Number of characters that are taken. */
  readonly place: () => number
  /** Goes back to a place. */
  readonly goTo: (place: number) => void
  /** Returns the error by which the pattern is refused. */
  readonly refused: (why: string) => RlError
}

/**
 * @param rest the characters to read
 * @param source the whole pattern, for errors
 */
export function readPattern(rest: string, source: string): PatternReader {
  const characters = Array.from(rest)
  let at = 0
  const isAhead = (text: string) => characters.slice(at, at + text.length).join('') === text
  return {
    peek: (behind = 0) => characters[at + behind],
    next(reasonAtEnd = 'it ends too early') {
      const character = characters[at++]
      if (character === undefined) throw refusedPattern(source, reasonAtEnd)
      return character
    },
    isAhead,
    take(text) {
      if (!isAhead(text)) return false
      at += text.length
      return true
    },
    digits(base, least, most) {
      let text = ''
      while (text.length < most && base.test(characters[at + text.length] ?? ''))
        text += characters[at + text.length]
      if (text.length < least) return null
      at += text.length
      return text
    },
    upTo(end) {
      const found = characters.indexOf(end, at)
      if (found < 0) return null
      const text = characters.slice(at, found).join('')
      at = found + 1
      return text
    },
    place: () => at,
    goTo(place) {
      at = place
    },
    refused: (why) => refusedPattern(source, why),
  }
}

export function refusedPattern(source: string, why: string, cause?: unknown): RlError {
  return new RlError(`the pattern ${JSON.stringify(source)} cannot be read as Python reads it: ${why}`, {
    code: 'desktop.task',
    hint: 'write it without that part, or leave the task out',
    cause,
  })
}
