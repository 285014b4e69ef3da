import { createHash, timingSafeEqual } from 'node:crypto'
import { validateHeaderValue } from 'node:http'
import { RlError } from './errors.ts'

/**
 * Returns a test whether an Authorization header has this token as a bearer. Tokens are compared by digest.
 * So the time shows neither content nor length, and only the digest is kept.
 */
export function bearerOf(token: string): (authorization: string | undefined) => boolean {
  const expected = digestOf(token)
  return (authorization) => {
    // The scheme may stand in any case (RFC 9110, section 11.1).
    const [, given = ''] = /^bearer +(.*)$/is.exec(authorization ?? '') ?? []
    return timingSafeEqual(digestOf(given), expected) && given !== ''
  }
}

const digestOf = (text: string): Buffer => createHash('sha256').update(text).digest()

/**
 * User and password of an address, up to the last @ before a slash, because a password may hold one. A scheme
 * has at most 31 characters. Without the limit the pattern needs quadratic time on long texts of letters and
 * dots.
 */
const CREDENTIALS = /([a-z][a-z0-9+.-]{0,30}:\/\/)[^\s/]+@/gi

/** Returns the text with addresses that have no user and no password. */
export function withoutCredentials(text: string, instead = '***'): string {
  return text.replace(CREDENTIALS, `$1${instead}@`)
}

/** Least length of a secret that is in no text by chance. */
const TELLING = 8

/**
 * Returns the text with stars in place of secrets, as they are and as part of an address. A secret of fewer than 8
 * characters is starred only as a word of its own: a token `tok` leaves `tokenizer.json` whole.
 */
export function withoutSecrets(text: string, secrets: readonly string[]): string {
  const spellings = new Set(secrets.flatMap((secret) => [secret, inAddress(secret)]))
  // The longest first: it may hold another.
  const inOrder = [...spellings].filter((secret) => secret !== '').sort((a, b) => b.length - a.length)
  return inOrder.reduce(
    (clean, secret) =>
      secret.length >= TELLING ? clean.replaceAll(secret, '***') : clean.replace(wordOf(secret), '***'),
    text,
  )
}

function inAddress(secret: string): string {
  return secret.isWellFormed() ? encodeURIComponent(secret) : ''
}

function wordOf(secret: string): RegExp {
  const letter = '[\\p{L}\\p{N}_]'
  const before = new RegExp(`^${letter}`, 'u').test(secret) ? `(?<!${letter})` : ''
  const after = new RegExp(`${letter}$`, 'u').test(secret) ? `(?!${letter})` : ''
  return new RegExp(`${before}${secret.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&')}${after}`, 'gu')
}

/**
 * Holds that a header can have the value of a variable. A client would else report a lost connection. The value is in no error.
 *
 * @param code of the error
 * @throws RlError `code`
 */
export function checkForHeader(
  value: string,
  variable: string,
  code: 'config.key' | 'environment.variable',
): void {
  try {
    validateHeaderValue('authorization', value)
  } catch {
    throw new RlError(`the environment variable ${variable} has characters that no header can hold`, {
      code,
      hint: 'set it to its text alone, on one line and without quotes',
    })
  }
}
