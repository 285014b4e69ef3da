/** Returns keys of a config as words of a command: `--set`, `key=value`, and so on. */
export function setWords(keys: Readonly<Record<string, string | number | boolean>>): string[] {
  return Object.entries(keys).flatMap(([key, value]) => ['--set', `${key}=${value}`])
}
