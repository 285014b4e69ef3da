import { createHash, timingSafeEqual } from 'node:crypto'

/**
 * Whether an Authorization header brings this token as a bearer. Tokens are compared by digest: neither the content nor the length
 * shows in the time it takes, and only the digest is kept.
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

/** What stands between a scheme and the last @ before a slash: a password may hold one. Of a scheme no more is read than schemes have: a text of dots would be tried from each of them. */
const CREDENTIALS = /([a-z][a-z0-9+.-]{0,30}:\/\/)[^\s/]+@/gi

/** A text whose addresses have no user and no password. */
export function withoutCredentials(text: string, instead = '***'): string {
  return text.replace(CREDENTIALS, `$1${instead}@`)
}
