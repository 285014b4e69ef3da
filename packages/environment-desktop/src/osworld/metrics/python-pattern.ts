/**
 * Translates regular expressions of Python to JavaScript. The same text can mean different things in the two:
 * `\w`, `$`, `.`, `{,3}`. Each construct is translated by its meaning, or the pattern is refused by name.
 * Source: the syntax of Python's `re` module, for patterns and texts of type `str`.
 */
import { RlError } from 'rlanything/kit'

/** White space of Python's `str.isspace`, as the inside of a character class. */
export const PYTHON_SPACE =
  '\\t-\\r\\x1c-\\x20\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000'

/** Insides of character classes, for all of Unicode and for ASCII alone (flag `a`). */
const SETS = {
  unicode: { d: '\\p{Nd}', w: '\\p{L}\\p{N}_', s: PYTHON_SPACE },
  ascii: { d: '0-9', w: '0-9A-Za-z_', s: '\\t-\\r\\x20' },
} as const
const CONTROLS: Readonly<Record<string, number>> = { a: 7, b: 8, f: 12, n: 10, r: 13, t: 9, v: 11 }
/** Without the flag `m` these are the ends of the whole text. */
const START = '^'
const END = '$'

type Flags = { ignoreCase: boolean; multiline: boolean; dotAll: boolean; ascii: boolean }

/**
 * @param ignoreCase as Python's flag `re.IGNORECASE`
 * @throws RlError `desktop.task` if JavaScript has no equal, or if it is no pattern
 * @example
 * pythonPattern('^\\w+$').test('Zürich') // true
 */
export function pythonPattern(source: string, ignoreCase = false): RegExp {
  const { flags, rest } = leadingFlags(source)
  const all = { ...flags, ignoreCase: flags.ignoreCase || ignoreCase }
  const translated = translate(Array.from(rest), all, source)
  try {
    return new RegExp(translated, all.ignoreCase ? 'iv' : 'v')
  } catch (cause) {
    throw refused(source, 'it is no pattern', cause)
  }
}

function refused(source: string, why: string, cause?: unknown): RlError {
  return new RlError(`the pattern ${JSON.stringify(source)} cannot be read as Python reads it: ${why}`, {
    code: 'desktop.task',
    hint: 'write it without that part, or leave the task out',
    cause,
  })
}

/** Reads global flags, which may be at the very beginning alone. */
function leadingFlags(source: string): { readonly flags: Flags; readonly rest: string } {
  const [whole = '', letters = ''] = /^\(\?([aiLmsux]+)\)/.exec(source) ?? []
  if (/[Lx]/.test(letters)) throw refused(source, `the flags ${letters}`)
  return {
    flags: {
      ignoreCase: letters.includes('i'),
      multiline: letters.includes('m'),
      dotAll: letters.includes('s'),
      ascii: letters.includes('a'),
    },
    rest: source.slice(whole.length),
  }
}

function literal(character: string): string {
  return `\\u{${(character.codePointAt(0) as number).toString(16)}}`
}

function translate(characters: readonly string[], flags: Flags, source: string): string {
  const sets = flags.ascii ? SETS.ascii : SETS.unicode
  const word = `[${sets.w}]`
  let at = 0
  let out = ''

  const ahead = (text: string) => characters.slice(at, at + text.length).join('') === text

  function take(text: string): boolean {
    if (!ahead(text)) return false
    at += text.length
    return true
  }

  function digits(base: RegExp, least: number, most: number): string | null {
    let text = ''
    while (text.length < most && base.test(characters[at + text.length] ?? ''))
      text += characters[at + text.length]
    if (text.length < least) return null
    at += text.length
    return text
  }

  /** Returns a character that is written by its code. Returns null if the letter begins no such escape. */
  function byCode(letter: string): string | null {
    const length = { x: 2, u: 4, U: 8 }[letter]
    if (length !== undefined) {
      const hex = digits(/[0-9a-fA-F]/, length, length)
      if (hex === null || Number.parseInt(hex, 16) > 0x10ffff) throw refused(source, `a wrong \\${letter}`)
      return `\\u{${hex}}`
    }
    if (letter === '0') return `\\u{${Number.parseInt(`0${digits(/[0-7]/, 0, 2)}`, 8).toString(16)}}`
    if (/[1-7]/.test(letter)) {
      const begun = at
      const octal = digits(/[0-7]/, 2, 2)
      if (octal !== null && letter < '4') return `\\u{${Number.parseInt(letter + octal, 8).toString(16)}}`
      at = begun
    }
    return null
  }

  /** Translates an escape that means the same inside and outside of a class. */
  function escaped(letter: string): string | null {
    const code = byCode(letter)
    if (code !== null) return code
    if (letter in CONTROLS) return `\\u{${CONTROLS[letter].toString(16)}}`
    return /[0-9A-Za-z]/.test(letter) ? null : literal(letter)
  }

  function outsideEscape(): string {
    const letter = characters[at++]
    if (letter === undefined) throw refused(source, 'a backslash ends it')
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
        const text = escaped(letter)
        if (text === null)
          throw refused(source, /[1-9]/.test(letter) ? 'a reference to a group' : `the escape \\${letter}`)
        return text
      }
    }
  }

  /** Returns one member of a class. `isSet` is true if it stands for several characters. */
  function member(): { readonly text: string; readonly isSet: boolean } {
    const character = characters[at++]
    if (character !== '\\') {
      if (character === '[' && /[:.=]/.test(characters[at] ?? ''))
        throw refused(source, 'a class within a class')
      return { text: literal(character), isSet: false }
    }
    const letter = characters[at++]
    if (letter === undefined) throw refused(source, 'a backslash ends it')
    if (/[dws]/.test(letter)) return { text: `[${sets[letter as 'd' | 'w' | 's']}]`, isSet: true }
    if (/[DWS]/.test(letter))
      return { text: `[^${sets[letter.toLowerCase() as 'd' | 'w' | 's']}]`, isSet: true }
    const text = escaped(letter)
    if (text === null) throw refused(source, `the escape \\${letter} in a class`)
    return { text, isSet: false }
  }

  function characterClass(): string {
    let inside = ''
    const negated = take('^')
    for (let first = true; first || characters[at] !== ']'; first = false) {
      if (at >= characters.length) throw refused(source, 'a class without an end')
      const from = member()
      if (characters[at] !== '-' || characters[at + 1] === ']' || characters[at + 1] === undefined) {
        inside += from.text
        continue
      }
      at++
      const to = member()
      if (from.isSet || to.isSet) throw refused(source, 'a range of sets')
      inside += `${from.text}-${to.text}`
    }
    at++
    return `[${negated ? '^' : ''}${inside}]`
  }

  function group(): string {
    if (!take('?')) return '('
    for (const same of [':', '=', '!', '<=', '<!']) if (take(same)) return `(?${same}`
    if (take('P<')) {
      const end = characters.indexOf('>', at)
      const name = characters.slice(at, end).join('')
      if (end < 0 || !/^[A-Za-z_]\w*$/.test(name)) throw refused(source, 'a group without a name')
      at = end + 1
      return `(?<${name}>`
    }
    if (take('#')) {
      const end = characters.indexOf(')', at)
      if (end < 0) throw refused(source, 'a comment without an end')
      at = end + 1
      return ''
    }
    throw refused(source, `the group (?${characters.slice(at, at + 2).join('')}`)
  }

  /** Reads what follows `{`: a count, or the character itself. */
  function count(): string {
    const begun = at
    const least = digits(/[0-9]/, 0, 9) ?? ''
    const isRange = take(',')
    const most = isRange ? (digits(/[0-9]/, 0, 9) ?? '') : least
    if ((least !== '' || isRange) && take('}')) return `{${least || '0'}${isRange ? `,${most}` : ''}}`
    at = begun
    return literal('{')
  }

  function repeated(text: string): string {
    if (ahead('+')) throw refused(source, 'a possessive repeat')
    return take('?') ? `${text}?` : text
  }

  while (at < characters.length) {
    const character = characters[at++]
    switch (character) {
      case '\\':
        out += outsideEscape()
        break
      case '[':
        out += characterClass()
        break
      case '(':
        out += group()
        break
      case '^':
        out += flags.multiline ? '(?:^|(?<=\\n))' : START
        break
      case '$':
        out += flags.multiline ? '(?=\\n|$)' : `(?=\\n?${END})`
        break
      case '.':
        out += flags.dotAll ? '[\\s\\S]' : '[^\\n]'
        break
      case '*':
      case '+':
      case '?':
        out += repeated(character)
        break
      case '{': {
        const text = count()
        out += text.startsWith('{') ? repeated(text) : text
        break
      }
      case ')':
      case '|':
        out += character
        break
      default:
        out += literal(character)
    }
  }
  return out
}
