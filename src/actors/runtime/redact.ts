/** Keeps secrets out of logs, screens and messages: error texts may quote addresses, headers and keys. */

import { withoutCredentials, withoutSecrets } from '../../secrets.ts'

const SECRET_NAME = /(_KEY|_KEY_ID|_TOKEN|_SECRET|_PASSWORD)$/
const PATTERNS: readonly (readonly [RegExp, string])[] = [
  [/\b(Bearer|Basic)\s+[A-Za-z0-9._~+/=-]{8,}/gi, '$1 ***'],
  [/\b(sk|hf|gsk|pk)[-_][A-Za-z0-9_-]{8,}/g, '$1-***'],
]

/** Keys of a config whose values are names of variables with secrets: one, or a list. `env` and `secrets` are given to others' servers. */
const NAMING: ReadonlySet<string> = new Set(['apiKeyEnv', 'tokenEnv', 'secrets', 'env'])

/** Variables that a config says hold keys. */
const named = new Set<string>()

/**
 * Makes the keys that a config names (e.g. `apiKeyEnv`, in any section) secrets of this process from now on. The names of
 * their variables do not matter.
 */
export function knowKeys(section: object): void {
  for (const [key, value] of Object.entries(section)) {
    if (NAMING.has(key)) for (const name of [value].flat()) if (typeof name === 'string') named.add(name)
    if (typeof value === 'object' && value !== null) knowKeys(value)
  }
}

/**
 * Returns the text without secrets. These are credentials in addresses, bearer tokens, API keys, and the given secrets.
 * Values of variables that hold secrets, by their names or by a config, are removed too.
 */
export function redact(text: string, secrets: readonly string[] = []): string {
  const fromEnvironment = Object.entries(process.env)
    .filter(
      ([name, value]) =>
        (SECRET_NAME.test(name) || named.has(name)) && value !== undefined && value.length >= 8,
    )
    .map(([, value]) => value as string)
  let clean = withoutSecrets(text, [...secrets, ...fromEnvironment])
  for (const [pattern, replacement] of PATTERNS) clean = clean.replace(pattern, replacement)
  return withoutCredentials(clean)
}
