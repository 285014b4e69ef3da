/** Parsing and printing for the command line, for commands of ours and of settings. */
import { type ParseArgsConfig, parseArgs } from 'node:util'
import { RlError } from './errors.ts'

/** As `parseArgs`. Its errors name the wrong word and point to `--help`. */
export function parseCommandLine<T extends ParseArgsConfig>(config: T, argv: readonly string[]) {
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

/** Returns the value as a whole number of at least `least`. Throws an error that names the flag. */
export function wholeNumber(flag: string, value: string, least = 0): number {
  const number = Number(value)
  if (!Number.isSafeInteger(number) || number < least || value.trim() === '')
    throw new RlError(`${flag} is '${value}', expected a whole number of at least ${least}`, {
      code: 'cli.usage',
    })
  return number
}

/** Control characters except newline and tab, Unicode line and paragraph separators, and bidirectional marks. */
const STEERING = /[^\P{Cc}\n\t]|[\p{Zl}\p{Zp}\p{Bidi_Control}]/gu

/** Makes a text safe for a terminal: tasks, answers and errors in a log come from anybody. Steering characters are shown as in JSON. */
export function forTerminal(text: string): string {
  return text.replace(STEERING, (steering) => `\\u${steering.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

/** As `forTerminal`, but on one line, for texts among words of ours. */
export function inLine(text: string): string {
  return forTerminal(text).replaceAll('\n', '\\n')
}

/** Prints text for people on standard output. */
export function printLine(text: string): void {
  process.stdout.write(`${forTerminal(text)}\n`)
}

/** Prints a value as one line of JSON on standard output. */
export function printJson(value: unknown): void {
  printLine(JSON.stringify(value))
}
