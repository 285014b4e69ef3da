import { RlError } from '../errors.ts'
import type { BackendChoice } from '../models/local/backend/backend.ts'

/** The value as a tensor backend. TensorFlow.js is only loaded when this is called. */
export async function backendFlag(value: string): Promise<BackendChoice> {
  const { BACKENDS } = await import('../models/local/backend/backend.ts')
  const found = (['auto', ...BACKENDS] as const).find((name) => name === value)
  if (!found)
    throw new RlError(`--backend is '${value}'`, {
      code: 'cli.usage',
      hint: `use auto or one of ${BACKENDS.join(', ')}`,
    })
  return found
}

/** Memory that a model may use for keys and values. It bounds the length of sequences. */
export const cacheFlag = { 'cache-megabytes': { type: 'string', default: '256' } } as const

export function cacheBytes(values: { readonly 'cache-megabytes': string }): number {
  return numberFlag('--cache-megabytes', values['cache-megabytes'], 1) * 1e6
}

/** The value, or an error that names the flag. */
export function required(flag: string, value: string | undefined): string {
  if (value === undefined || value === '')
    throw new RlError(`${flag} is missing`, { code: 'cli.usage', hint: 'see --help' })
  return value
}

/** The value as a number within [least, most]. */
export function numberFlag(
  flag: string,
  value: string,
  least: number,
  most = Number.POSITIVE_INFINITY,
): number {
  const number = Number(value)
  if (value.trim() === '' || !(number >= least && number <= most))
    throw new RlError(
      `${flag} is '${value}', expected a number of ${most === Number.POSITIVE_INFINITY ? `at least ${least}` : `${least} to ${most}`}`,
      { code: 'cli.usage' },
    )
  return number
}

/**
 * Returns the token that clients must send, from --token or a variable. Returns undefined if neither gives
 * one.
 */
export function tokenFlag(value: string | undefined, variable: string): string | undefined {
  const token = value ?? process.env[variable]
  if (token === undefined) return undefined
  const refuse = (what: string, hint: string) =>
    new RlError(`the token in ${value === undefined ? variable : '--token'} ${what}`, {
      code: 'cli.usage',
      hint,
    })
  if (token.length < 8) throw refuse('is shorter than 8 characters', 'leave it out for a random one')
  if (!/^[!-~][ -~]*[!-~]$/.test(token))
    throw refuse(
      'has blanks at its ends or characters beyond printable ASCII: no client can send it',
      'set it again, on one line and without quotes',
    )
  return token
}
