import { createHash, timingSafeEqual } from 'node:crypto'

/**
 * Returns a function that tests whether an Authorization header has this bearer token. Tokens are compared by digest, and only the
 * digest is kept. So the time taken shows neither content nor length.
 */
export function bearerOf(token: string): (authorization: string | undefined) => boolean {
  const expected = digestOf(token)
  return (authorization) => {
    // The scheme may have any case (RFC 9110, section 11.1).
    const [, given = ''] = /^bearer +(.*)$/is.exec(authorization ?? '') ?? []
    return timingSafeEqual(digestOf(given), expected) && given !== ''
  }
}

const digestOf = (text: string): Buffer => createHash('sha256').update(text).digest()

/**
 * Matches a scheme and everything up to the last @ before a slash: a password may contain an @. A scheme has at most 31 characters. Without
 * the limit the pattern needs quadratic time on long texts of letters and dots.
 */
const CREDENTIALS = /([a-z][a-z0-9+.-]{0,30}:\/\/)[^\s/]+@/gi

/** Returns a text with users and passwords in addresses replaced. */
export function withoutCredentials(text: string, instead = '***'): string {
  return text.replace(CREDENTIALS, `$1${instead}@`)
}

/** A secret of this length occurs in no text by chance. */
const TELLING = 8

/**
 * Returns a text with stars in place of secrets, plain or encoded in an address. A secret of fewer than 8 characters is replaced only as
 * a whole word: a token `tok` leaves `tokenizer.json` whole.
 */
export function withoutSecrets(text: string, secrets: readonly string[]): string {
  const spellings = new Set(secrets.flatMap((secret) => [secret, inAddress(secret)]))
  // The longest first: a longer secret may contain a shorter one.
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
