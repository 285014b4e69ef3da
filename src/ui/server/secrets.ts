/** Secrets that a browser needs for the pages. */
import { randomBytes } from 'node:crypto'

/** Port of the pages, if it is free. */
export const USUAL_PORT = 7717

export type Secrets = {
  /** Of the link, in its fragment, which no server sees. It is good for one browser. */
  readonly token: string
  /** Of that browser from then on. */
  readonly cookie: string
}

export function newSecrets(): Secrets {
  return { token: secret(), cookie: secret() }
}

function secret(): string {
  return randomBytes(24).toString('base64url')
}

/** The link that opens a page, e.g. `http://127.0.0.1:7717/r/run-1#...`. */
export function linkTo(port: number, path: string, { token }: Secrets): string {
  return `http://127.0.0.1:${port}${path}#${token}`
}
