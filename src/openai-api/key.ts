/** The key of an endpoint. It is read from its environment variable and never shown. */
import { checkForHeader, withoutSecrets } from '../secrets.ts'

/**
 * Returns the key without white space around it. Returns null if no variable is named, or none is set.
 * @throws RlError `config.key` if it has characters that a header cannot have: the client would report a lost
 * connection
 */
export function keyIn(variable: string | undefined, env: NodeJS.ProcessEnv = process.env): string | null {
  const key = (variable === undefined ? undefined : env[variable])?.trim() || null
  if (key !== null) checkForHeader(key, variable ?? '', 'config.key')
  return key
}

/** Returns a text without the key. Servers repeat a key alone or as part of an address. */
export function withoutKey(text: string, key: string | null): string {
  return key === null ? text : withoutSecrets(text, [key])
}
