/** The key of an endpoint. It is read from its environment variable and never shown. */
import { validateHeaderValue } from 'node:http'
import { RlError } from '../errors.ts'
import { withoutSecrets } from '../secrets.ts'

/**
 * Returns the key without white space around it. Returns null if no variable is named, or none is set.
 * @throws RlError `config.key` if it has characters that a header cannot have: the client would report a lost
 * connection
 */
export function keyIn(variable: string | undefined, env: NodeJS.ProcessEnv = process.env): string | null {
  const key = (variable === undefined ? undefined : env[variable])?.trim() || null
  if (key === null) return null
  try {
    validateHeaderValue('authorization', key)
  } catch {
    throw new RlError(`the environment variable ${variable} has characters that no header can hold`, {
      code: 'config.key',
      hint: 'set it to the key alone, on one line and without quotes',
    })
  }
  return key
}

/** Returns a text without the key. Servers repeat a key alone or as part of an address. */
export function withoutKey(text: string, key: string | null): string {
  return key === null ? text : withoutSecrets(text, [key])
}
