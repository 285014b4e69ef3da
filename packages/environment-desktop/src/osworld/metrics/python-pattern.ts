/**
 * Translates regular expressions of Python to JavaScript. The same text can mean different things in the two:
 * `\w`, `$`, `.`, `{,3}`. Each construct is translated by its meaning, or the pattern is refused by name.
 * Source: the syntax of Python's `re` module, for patterns and texts of type `str`.
 */
import { characterClass, END, literal, outsideEscape, SETS, START } from './pattern-escapes.ts'
import { type PatternReader, readPattern, refusedPattern } from './pattern-reader.ts'

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
  const translated = translate(readPattern(rest, source), all)
  try {
    return new RegExp(translated, all.ignoreCase ? 'iv' : 'v')
  } catch (cause) {
    throw refusedPattern(source, 'it is no pattern', cause)
  }
}

/** Reads global flags, which may be at the very beginning alone. */
function leadingFlags(source: string): { readonly flags: Flags; readonly rest: string } {
  const [whole = '', letters = ''] = /^\(\?([aiLmsux]+)\)/.exec(source) ?? []
  if (/[Lx]/.test(letters)) throw refusedPattern(source, `the flags ${letters}`)
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

function translate(reader: PatternReader, flags: Flags): string {
  const sets = flags.ascii ? SETS.ascii : SETS.unicode
  let out = ''
  while (reader.peek() !== undefined) {
    const character = reader.next()
    switch (character) {
      case '\\':
        out += outsideEscape(reader, sets)
        break
      case '[':
        out += characterClass(reader, sets)
        break
      case '(':
        out += group(reader)
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
        out += repeated(reader, character)
        break
      case '{': {
        const text = count(reader)
        out += text.startsWith('{') ? repeated(reader, text) : text
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

function group(reader: PatternReader): string {
  if (!reader.take('?')) return '('
  for (const same of [':', '=', '!', '<=', '<!']) if (reader.take(same)) return `(?${same}`
  if (reader.take('P<')) {
    const name = reader.upTo('>')
    if (name === null || !/^[A-Za-z_]\w*$/.test(name)) throw reader.refused('a group without a name')
    return `(?<${name}>`
  }
  if (reader.take('#')) {
    if (reader.upTo(')') === null) throw reader.refused('a comment without an end')
    return ''
  }
  throw reader.refused(`the group (?${reader.peek() ?? ''}${reader.peek(1) ?? ''}`)
}

/** Reads what follows `{`: a count, or the character itself. */
function count(reader: PatternReader): string {
  const begun = reader.place()
  const least = reader.digits(/[0-9]/, 0, 9) ?? ''
  const isRange = reader.take(',')
  const most = isRange ? (reader.digits(/[0-9]/, 0, 9) ?? '') : least
  if ((least !== '' || isRange) && reader.take('}')) return `{${least || '0'}${isRange ? `,${most}` : ''}}`
  reader.goTo(begun)
  return literal('{')
}

function repeated(reader: PatternReader, text: string): string {
  if (reader.isAhead('+')) throw reader.refused('a possessive repeat')
  return reader.take('?') ? `${text}?` : text
}
