/** The key of an endpoint. It is read from its environment variable and shown nowhere. */
import { validateHeaderValue } from 'node:http'
import { RlError } from '../errors.ts'
import { withoutSecrets } from '../secrets.ts'

/**
 * Returns the key without white space around it. Returns null if no variable is named or it is not set.
 * @throws RlError `config.key` if no header can hold it: the client would report a lost connection
 */
export function keyIn(variable: string | undefined, env: NodeJS.ProcessEnv = process.env): string | null {
  const key = (variable === undefined ? undefined : env[variable])?.trim() || null
  if (key === null) return null
  try {
    validateHeaderValue('authorization', key)
  } catch {
    throw new RlError(`the environment variable ${variable} holds what no header can`, {
      code: 'config.key',
      hint: 'put the key alone into it, on one line and without quotes',
    })
  }
  return key
}

/** Returns a text with stars in place of the key. Servers quote a key plainly, or as part of an address. */
export function withoutKey(text: string, key: string | null): string {
  return key === null ? text : withoutSecrets(text, [key])
}
