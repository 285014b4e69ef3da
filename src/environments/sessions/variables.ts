/** Variables of this process that a section names, e.g. with a token. Their values never stand in a config. */
import { RlError } from '../../errors.ts'
import { checkForHeader } from '../../secrets.ts'

/**
 * Returns the value of a variable.
 *
 * @param key key of the config that names it
 * @throws RlError `environment.variable` if it is not set
 */
function variableOf(name: string, key: string): string {
  const value = process.env[name]
  if (value === undefined)
    throw new RlError(`the environment variable ${name} is not set`, {
      code: 'environment.variable',
      hint: `${key} names it: set it where the rollouts are played, or correct the name`,
    })
  return value
}

/**
 * Returns a token for a header.
 *
 * @throws RlError `environment.variable` if it is not set, or no header can hold it
 */
export function tokenOf(name: string, key: string): string {
  const token = variableOf(name, key).trim()
  checkForHeader(token, name, 'environment.variable')
  return token
}

/** Returns variables by their names. */
export function variablesOf(names: readonly string[], key: string): Readonly<Record<string, string>> {
  return Object.fromEntries(names.map((name) => [name, variableOf(name, key)]))
}
