/** Lists of JSON texts that stay short: whoever makes one of too many texts is refused. */
import { isRounded } from '../../../exact-json.ts'
import type { Schema } from '../../../schema-values.ts'

/** Most texts of a schema. */
export const MOST_TEXTS = 4_096
/** Most characters of all texts together. */
const MOST_CHARACTERS = 1_000_000
/** Refuses the part of a schema at a path. */
export type Refuse = (path: string, why: string) => never

/** Returns the texts of all parts. They are counted while they are made: a short schema may have more than fit into memory. */
export function joined<T>(
  parts: readonly T[],
  textsOfPart: (part: T, index: number) => readonly string[],
  path: string,
  refuse: Refuse,
): string[] {
  const all: string[] = []
  let characters = 0
  for (const [index, part] of parts.entries())
    for (const text of textsOfPart(part, index)) {
      characters += text.length
      if (all.push(text) > MOST_TEXTS) return refuse(path, `more than ${MOST_TEXTS} texts`)
      if (characters > MOST_CHARACTERS)
        return refuse(path, `texts of more than ${MOST_CHARACTERS} characters`)
    }
  return all
}

/** Returns each head followed by each member. */
export function paired(
  heads: readonly string[],
  members: readonly string[],
  path: string,
  refuse: Refuse,
): string[] {
  const behind = (head: string) => members.map((member) => (head === '' ? member : `${head},${member}`))
  return joined(heads, behind, path, refuse)
}

/** Returns the whole numbers within the limits of a schema. */
export function integers(one: Schema, path: string, refuse: Refuse): string[] {
  const bound = (key: string, step: number) => {
    const value = one[key] ?? null
    if (value !== null && typeof value !== 'number') return refuse(path, `'${key}' is no number`)
    if (isRounded(value)) return refuse(path, `${value} is beyond the exact integers`)
    return value === null ? null : Math[step > 0 ? 'ceil' : 'floor'](value)
  }
  const above = bound('exclusiveMinimum', -1)
  const below = bound('exclusiveMaximum', 1)
  const least = Math.max(bound('minimum', 1) ?? -Infinity, above === null ? -Infinity : above + 1)
  const most = Math.min(bound('maximum', -1) ?? Infinity, below === null ? Infinity : below - 1)
  const count = most - least + 1
  if (!Number.isFinite(count)) return refuse(path, "an integer needs 'minimum' and 'maximum'")
  if (count > MOST_TEXTS) return refuse(path, `more than ${MOST_TEXTS} texts`)
  return Array.from({ length: Math.max(0, count) }, (_, i) => String(least + i))
}
