/** Keeps secrets out of what is logged, shown or sent: error texts may quote addresses, headers and keys. */

const SECRET_NAME = /(_KEY|_TOKEN|_SECRET|_PASSWORD)$/
const PATTERNS: readonly (readonly [RegExp, string])[] = [
  // To the last @ before a slash: a password may hold one. No scheme is longer: a text of dots would be tried from each of them.
  [/\b([a-z][a-z0-9+.-]{0,30}:\/\/)[^\s/]+@/gi, '$1***@'],
  [/\b(Bearer|Basic)\s+[A-Za-z0-9._~+/=-]{8,}/gi, '$1 ***'],
  [/\b(sk|hf|gsk|pk)[-_][A-Za-z0-9_-]{8,}/g, '$1-***'],
]

/** The text without credentials in addresses, bearer tokens, API keys, the given secrets, and the values of secret environment variables. */
export function redact(text: string, secrets: readonly string[] = []): string {
  const fromEnvironment = Object.entries(process.env)
    .filter(([name, value]) => SECRET_NAME.test(name) && value !== undefined && value.length >= 8)
    .map(([, value]) => value as string)
  let clean = text
  for (const secret of [...secrets, ...fromEnvironment])
    if (secret !== '') clean = clean.replaceAll(secret, '***')
  for (const [pattern, replacement] of PATTERNS) clean = clean.replace(pattern, replacement)
  return clean
}
