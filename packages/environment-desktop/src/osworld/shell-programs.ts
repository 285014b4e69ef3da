/** Finds the programs that a shell text starts, as far as its words tell. */

const KEYWORDS = new Set(
  'if then else elif fi for while until do done case esac in function { } ! [[ ]] ( )'.split(' '),
)
const BUILTINS = new Set(
  '. : [ alias bg break cd command continue declare echo eval exec exit export false fg getopts hash jobs let local mapfile printf pwd read readonly return set shift shopt source test times trap true type ulimit umask unalias unset wait'.split(
    ' ',
  ),
)
/** Programs that start another program, named after their own options. */
const STARTERS = new Set(
  'env exec nice nohup setsid stdbuf time timeout xargs command builtin sudo'.split(' '),
)
const SHELLS = new Set(['sh', 'bash', 'dash', '/bin/sh', '/bin/bash', '/usr/bin/bash'])
const MOST_CHARACTERS = 20_000
const MOST_DEPTH = 5

/**
 * The names of the programs, in their order. Text in quotes is data, except behind `sh -c` and within `$(...)`.
 * @example
 * programsIn('LANG=C ls /tmp | wc -l && sudo -n apt-get update') // ['ls', 'wc', 'sudo', 'apt-get']
 */
export function programsIn(text: string, depth = 0): readonly string[] {
  if (depth > MOST_DEPTH) return []
  const { commands, nested } = commandsOf(text.slice(0, MOST_CHARACTERS))
  const found = commands.flatMap((words) => programsOf(words, depth))
  return [...new Set([...found, ...nested.flatMap((inner) => programsIn(inner, depth + 1))])]
}

/** Returns the program of one command, and the programs that it starts itself. */
function programsOf(words: readonly string[], depth: number): readonly string[] {
  const first = words.findIndex((word) => !KEYWORDS.has(word) && !/^[A-Za-z_]\w*\+?=/.test(word))
  const name = words[first]
  if (name === undefined) return []
  const rest = words.slice(first + 1)
  if (/^(?:for|case)$/.test(words[first - 1] ?? '') || name.includes('$') || name.endsWith('()')) return []
  const own = BUILTINS.has(name) || name === '' ? [] : [name]
  if (SHELLS.has(name)) {
    const at = rest.findIndex((word) => /^-\w*c$/.test(word))
    const text = at < 0 ? undefined : rest[at + 1]
    return [...own, ...(text === undefined ? [] : programsIn(text, depth + 1))]
  }
  if (!STARTERS.has(name.slice(name.lastIndexOf('/') + 1))) return own
  const next = rest.findIndex((word) => !word.startsWith('-') && !/^[\d.]+[smhd]?$/.test(word))
  return [...own, ...(next < 0 ? [] : programsOf(rest.slice(next), depth))]
}

/** Commands as lists of words, and the texts within `$(...)` and backquotes. */
function commandsOf(text: string): { readonly commands: string[][]; readonly nested: string[] } {
  let command: string[] = []
  const commands = [command]
  const nested: string[] = []
  let word: string | null = null
  let isTarget = false
  const endWord = () => {
    if (word !== null && !isTarget) command.push(word)
    if (word !== null) isTarget = false
    word = null
  }
  const endCommand = () => {
    endWord()
    isTarget = false
    command = []
    commands.push(command)
  }
  for (let at = 0; at < text.length; at++) {
    const character = text.charAt(at)
    if (character === '\\') word = (word ?? '') + (text[++at] ?? '')
    else if (character === "'") {
      const end = text.indexOf("'", at + 1)
      word = (word ?? '') + text.slice(at + 1, end < 0 ? undefined : end)
      at = end < 0 ? text.length : end
    } else if (character === '"') {
      const { inside, end } = quoted(text, at + 1)
      nested.push(...substitutions(inside))
      word = (word ?? '') + inside
      at = end
    } else if (character === '`' || text.startsWith('$(', at)) {
      const { inside, end } = substitution(text, at)
      nested.push(inside)
      word = `${word ?? ''}$`
      at = end
    } else if (/[;&|\n()]/.test(character)) endCommand()
    else if (/[<>]/.test(character)) {
      if (word !== null && /^\d+$/.test(word)) word = null
      endWord()
      while (/[<>&]/.test(text[at + 1] ?? '')) at++
      isTarget = true
    } else if (/\s/.test(character)) endWord()
    else if (character === '#' && word === null) {
      const end = text.indexOf('\n', at)
      at = end < 0 ? text.length : end - 1
    } else word = (word ?? '') + character
  }
  endWord()
  return { commands: commands.filter((words) => words.length > 0), nested }
}

function quoted(text: string, from: number): { readonly inside: string; readonly end: number } {
  let inside = ''
  for (let at = from; at < text.length; at++) {
    if (text[at] === '"') return { inside, end: at }
    if (text[at] === '\\' && /["\\$`]/.test(text[at + 1] ?? '')) at++
    inside += text[at] ?? ''
  }
  return { inside, end: text.length }
}

/** The text of `$(...)` or of backquotes that begins here. */
function substitution(text: string, from: number): { readonly inside: string; readonly end: number } {
  if (text[from] === '`') {
    const end = text.indexOf('`', from + 1)
    return { inside: text.slice(from + 1, end < 0 ? undefined : end), end: end < 0 ? text.length : end }
  }
  let depth = 0
  for (let at = from + 1; at < text.length; at++) {
    if (text[at] === '(') depth++
    else if (text[at] === ')' && --depth === 0) return { inside: text.slice(from + 2, at), end: at }
  }
  return { inside: text.slice(from + 2), end: text.length }
}

function substitutions(text: string): string[] {
  const found: string[] = []
  for (let at = 0; at < text.length; at++)
    if (text[at] === '`' || text.startsWith('$(', at)) {
      const { inside, end } = substitution(text, at)
      found.push(inside)
      at = end
    }
  return found
}
