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

/** Prints a value as one line of JSON on standard output. */
export function printJson(value: unknown): void {
  process.stdout.write(`${JSON.stringify(value)}\n`)
}
