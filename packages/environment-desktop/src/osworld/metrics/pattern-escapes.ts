/** Translates escapes and character classes of Python's patterns to JavaScript. */
import type { PatternReader } from './pattern-reader.ts'

/** White space of Python's `str.isspace`, as the inside of a character class. */
export const PYTHON_SPACE =
  '\\t-\\r\\x1c-\\x20\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000'

/** Insides of character classes, for all of Unicode and for ASCII alone (flag `a`). */
export const SETS = {
  unicode: { d: '\\p{Nd}', w: '\\p{L}\\p{N}_', s: PYTHON_SPACE },
  ascii: { d: '0-9', w: '0-9A-Za-z_', s: '\\t-\\r\\x20' },
} as const
/** Insides of character classes for the letters d, w and s. */
export type Sets = { readonly d: string; readonly w: string; readonly s: string }

const CONTROLS: ReadonlyMap<string, number> = new Map(
  Object.entries({ a: 7, b: 8, f: 12, n: 10, r: 13, t: 9, v: 11 }),
)
/** Without the flag `m` these are the ends of the whole text. */
export const START = '^'
export const END = '$'

export function literal(character: string): string {
  return `\\u{${(character.codePointAt(0) as number).toString(16)}}`
}

/** Returns a character that is written by its code. Returns null if the letter begins no such escape. */
function byCode(reader: PatternReader, letter: string): string | null {
  const length = { x: 2, u: 4, U: 8 }[letter]
  if (length !== undefined) {
    const hex = reader.digits(/[0-9a-fA-F]/, length, length)
    if (hex === null || Number.parseInt(hex, 16) > 0x10ffff) throw reader.refused(`a wrong \\${letter}`)
    return `\\u{${hex}}`
  }
  if (letter === '0') return `\\u{${Number.parseInt(`0${reader.digits(/[0-7]/, 0, 2)}`, 8).toString(16)}}`
  if (/[1-7]/.test(letter)) {
    const begun = reader.place()
    const octal = reader.digits(/[0-7]/, 2, 2)
    if (octal !== null && letter < '4') return `\\u{${Number.parseInt(letter + octal, 8).toString(16)}}`
    reader.goTo(begun)
  }
  return null
}

/** Translates an escape that means the same inside and outside of a class. */
function escaped(reader: PatternReader, letter: string): string | null {
  const code = byCode(reader, letter)
  if (code !== null) return code
  const control = CONTROLS.get(letter)
  if (control !== undefined) return `\\u{${control.toString(16)}}`
  return /[0-9A-Za-z]/.test(letter) ? null : literal(letter)
}

export function outsideEscape(reader: PatternReader, sets: Sets): string {
  const word = `[${sets.w}]`
  const letter = reader.next('a backslash ends it')
  switch (letter) {
    case 'A':
      return START
    case 'Z':
      return END
    case 'b':
      return `(?:(?<=${word})(?!${word})|(?<!${word})(?=${word}))`
    case 'B':
      return `(?:(?<=${word})(?=${word})|(?<!${word})(?!${word}))`
    case 'd':
    case 'w':
    case 's':
      return `[${sets[letter]}]`
    case 'D':
    case 'W':
    case 'S':
      return `[^${sets[letter.toLowerCase() as 'd' | 'w' | 's']}]`
    default: {
      const text = escaped(reader, letter)
      if (text === null)
        throw reader.refused(/[1-9]/.test(letter) ? 'a reference to a group' : `the escape \\${letter}`)
      return text
    }
  }
}

/** Returns one member of a class. `isSet` is true if it stands for several characters. */
function member(reader: PatternReader, sets: Sets): { readonly text: string; readonly isSet: boolean } {
  const character = reader.next('a class without an end')
  if (character !== '\\') {
    if (character === '[' && /[:.=]/.test(reader.peek() ?? '')) throw reader.refused('a class within a class')
    return { text: literal(character), isSet: false }
  }
  const letter = reader.next('a backslash ends it')
  if (/[dws]/.test(letter)) return { text: `[${sets[letter as 'd' | 'w' | 's']}]`, isSet: true }
  if (/[DWS]/.test(letter))
    return { text: `[^${sets[letter.toLowerCase() as 'd' | 'w' | 's']}]`, isSet: true }
  const text = escaped(reader, letter)
  if (text === null) throw reader.refused(`the escape \\${letter} in a class`)
  return { text, isSet: false }
}

export function characterClass(reader: PatternReader, sets: Sets): string {
  let inside = ''
  const negated = reader.take('^')
  for (let first = true; first || reader.peek() !== ']'; first = false) {
    const from = member(reader, sets)
    if (reader.peek() !== '-' || reader.peek(1) === ']' || reader.peek(1) === undefined) {
      inside += from.text
      continue
    }
    reader.next('a class without an end')
    const to = member(reader, sets)
    if (from.isSet || to.isSet) throw reader.refused('a range of sets')
    inside += `${from.text}-${to.text}`
  }
  reader.next('a class without an end')
  return `[${negated ? '^' : ''}${inside}]`
}
