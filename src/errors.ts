export type RlErrorOptions = {
  /** Stable, machine-readable name of what went wrong, e.g. `config.unknown-key`. */
  readonly code: string
  /** The next step for the person who reads the message. */
  readonly hint?: string
  readonly cause?: unknown
}

/** Most characters of a message. It names the wrong value, and a value can be as long as a file. */
const MOST_CHARACTERS = 4_000

function shortened(message: string): string {
  if (message.length <= MOST_CHARACTERS) return message
  const half = MOST_CHARACTERS / 2
  return `${message.slice(0, half)} [... ${message.length - 2 * half} characters ...] ${message.slice(-half)}`
}

/**
 * An error that says what happened, to what, and what to do next. Every error of this project is an RlError.
 *
 * @example
 *     throw new RlError(`there is no event log at ${path}`, { code: 'log.missing', hint: 'rl runs lists runs' })
 */
export class RlError extends Error {
  override readonly name: string = 'RlError'
  readonly code: string
  readonly hint: string | undefined

  constructor(message: string, { code, hint, cause }: RlErrorOptions) {
    super(shortened(message), { cause })
    this.code = code
    this.hint = hint
  }
}

/**
 * Returns one line for a terminal or a log: the message, and the hint after a dash if there is one.
 *
 * @example explain(new RlError('no such file', { code: 'file.missing', hint: 'check the path' })) // 'no such file - check the path'
 */
export function explain(error: unknown): string {
  if (error instanceof RlError) return error.hint ? `${error.message} - ${error.hint}` : error.message
  return error instanceof Error ? error.message : String(error)
}
