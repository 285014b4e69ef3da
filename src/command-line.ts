/** Words of a command line, for commands of ours and of settings. */
import { type ParseArgsConfig, parseArgs } from 'node:util'
import { RlError } from './errors.ts'

/** `parseArgs` whose errors name the word that is wrong and point to `--help`. */
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

/** The value as a whole number of at least `least`, or an error that names the flag. */
export function wholeNumber(flag: string, value: string, least = 0): number {
  const number = Number(value)
  if (!Number.isSafeInteger(number) || number < least || value.trim() === '')
    throw new RlError(`${flag} is '${value}', expected a whole number of at least ${least}`, {
      code: 'cli.usage',
    })
  return number
}

/** Control characters but ends of lines and tabs, ends of lines that only some readers take for such, and the marks that turn the direction of what follows. */
const STEERING = /[^\P{Cc}\n\t]|[\p{Zl}\p{Zp}\p{Bidi_Control}]/gu

/** As people may read it: tasks, answers and errors in a log are anybody's, and must not steer a terminal. Their codes are shown, as JSON writes them. */
export function forTerminal(text: string): string {
  return text.replace(STEERING, (steering) => `\\u${steering.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

/** The same on one line, for what stands among words of ours. */
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
