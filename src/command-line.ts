/** Words of a command line, for the commands of this project and of settings. */
import { type ParseArgsConfig, parseArgs } from 'node:util'
import { RlError } from './errors.ts'

/** Calls `parseArgs`. Its errors name the wrong word and point to `--help`. */
export function parseCommandLine<T extends ParseArgsConfig>(
  config: T,
  argv: readonly string[],
): ReturnType<typeof parseArgs<T & { args: string[]; strict: true }>> {
  try {
    return parseArgs({ ...config, args: [...argv], strict: true })
  } catch (cause) {
    throw new RlError(cause instanceof Error ? cause.message : String(cause), {
      code: 'cli.usage',
      hint: 'see --help',
      cause,
    })
  }
}

/**
 * Returns the value as a whole number of at least `least`.
 *
 * @throws RlError `cli.usage` that names the flag
 * @example wholeNumber('--port', '8100', 1) // 8100
 */
export function wholeNumber(flag: string, value: string, least = 0): number {
  const number = Number(value)
  if (!Number.isSafeInteger(number) || number < least || value.trim() === '')
    throw new RlError(`${flag} is '${value}', expected a whole number of at least ${least}`, {
      code: 'cli.usage',
    })
  return number
}

/**
 * Returns the value as a port. 0 is a free one.
 *
 * @throws RlError `cli.usage`
 */
export function portNumber(value: string): number {
  const port = wholeNumber('--port', value)
  if (port <= 65_535) return port
  throw new RlError(`--port is '${value}', expected at most 65535`, { code: 'cli.usage' })
}

/**
 * Control characters except newline and tab, Unicode line and paragraph separators, and bidirectional marks.
 */
const STEERING = /[^\P{Cc}\n\t]|[\p{Zl}\p{Zp}\p{Bidi_Control}]/gu

/**
 * Returns the text as a terminal may show it. Tasks, answers and errors in a log come from anybody, and must
 * not steer a terminal. Steering characters become their codes, as JSON writes them.
 */
export function forTerminal(text: string): string {
  return text.replace(STEERING, (steering) => `\\u${steering.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

/**
 * Returns the text for a terminal, on one line.
 *
 * @example inLine('two\nlines') // 'two\\nlines'
 */
export function inLine(text: string): string {
  return forTerminal(text).replaceAll('\n', '\\n')
}

/**
 * Returns a word as a shell takes it.
 *
 * @example shellWord("it's") // "'it'\\''s'"
 */
export function shellWord(word: string): string {
  return /^[\w./:=@,+-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`
}

/**
 * Returns the words of a command whose words were quoted as `shellWord` does.
 *
 * @example shellWords("rl --out 'a b'") // ['rl', '--out', 'a b']
 */
export function shellWords(command: string): readonly string[] {
  const words = command.match(/(?:[^\s'\\]|\\.|'[^']*')+/g) ?? []
  return words.map((word) => word.replace(/\\(.)|'([^']*)'/g, '$1$2'))
}

/**
 * Prints text for people on standard output.
 *
 * @example printLine('3 tasks were read')
 */
export function printLine(text: string): void {
  process.stdout.write(`${forTerminal(text)}\n`)
}

/**
 * Prints a value as one line of JSON on standard output.
 *
 * @example printJson({ tasks: 3 })
 */
export function printJson(value: unknown): void {
  printLine(JSON.stringify(value))
}
