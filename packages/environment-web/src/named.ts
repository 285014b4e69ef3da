/**
 * Finds the parts of a page that the task names. So a small model need not search for them among all
 * elements.
 */

/** Returns the name and the argument of a command. */
export function partsOf(command: string): string[] {
  const [, name, argument] = /^\S+ \d+ "([^"]*)"(?: ([\s\S]*))?$/.exec(command) ?? []
  return [name ?? '', argument ?? ''].filter((part) => part !== '')
}

const wordsOf = (text: string): string[] => text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []

/**
 * Returns names of elements, options and texts of the admissible commands that the goal tells, in the goal's
 * order. A name counts by its rarest word: `add` in `add tea` says nothing if every name has it.
 */
export function namedIn(goal: string, commands: readonly string[]): string[] {
  const places = new Map<string, number>()
  for (const [at, word] of wordsOf(goal).entries()) if (!places.has(word)) places.set(word, at)
  const parts = new Set(commands.flatMap(partsOf))
  const counts = new Map<string, number>()
  for (const part of parts)
    for (const word of new Set(wordsOf(part))) counts.set(word, (counts.get(word) ?? 0) + 1)
  const found = [...parts].flatMap((part) => {
    const words = wordsOf(part)
    const rarest = Math.min(...words.map((word) => counts.get(word) ?? 0))
    const at = words.flatMap((word) => (counts.get(word) === rarest ? (places.get(word) ?? []) : []))
    return at.length === 0 ? [] : [{ part, at: Math.min(...at) }]
  })
  return found.sort((a, b) => a.at - b.at).map(({ part }) => part)
}
