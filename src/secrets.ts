/** What stands between a scheme and the last @ before a slash: a password may hold one. Of a scheme no more is read than schemes have: a text of dots would be tried from each of them. */
const CREDENTIALS = /([a-z][a-z0-9+.-]{0,30}:\/\/)[^\s/]+@/gi

/** A text whose addresses have no user and no password. */
export function withoutCredentials(text: string, instead = '***'): string {
  return text.replace(CREDENTIALS, `$1${instead}@`)
}
