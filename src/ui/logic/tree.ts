/** Any plain value as a tree, for events and contexts that no other view knows. */

export type Branch = {
  readonly name: string
  /** Text of a leaf. Null if the value has inner ones. */
  readonly text: string | null
  readonly kind: 'text' | 'number' | 'other' | 'list' | 'object'
  readonly size: number
}

/** Inner values that are shown at once. */
const MOST = 200
const MOST_TEXT = 20_000

/**
 * Returns the inner values of a value, and the number of those that are left out.
 * @example branchesOf({ a: 1 }).list[0] // { name: 'a', text: '1', kind: 'number', size: 0 }
 */
export function branchesOf(value: object): {
  readonly list: readonly (Branch & { readonly value: unknown })[]
  readonly more: number
} {
  const entries = Object.entries(value)
  return {
    list: entries.slice(0, MOST).map(([name, value]) => ({ ...branchOf(name, value), value })),
    more: Math.max(0, entries.length - MOST),
  }
}

function branchOf(name: string, value: unknown): Branch {
  if (Array.isArray(value) && value.length > 0 && value.every(isShort))
    return {
      name,
      text: `[${value.slice(0, MOST).join(', ')}${value.length > MOST ? ', …' : ''}]`,
      kind: 'other',
      size: value.length,
    }
  if (typeof value === 'object' && value !== null) {
    const size = Object.keys(value).length
    if (size > 0) return { name, text: null, kind: Array.isArray(value) ? 'list' : 'object', size }
    return { name, text: Array.isArray(value) ? '[]' : '{}', kind: 'other', size }
  }
  const kind = typeof value === 'string' ? 'text' : typeof value === 'number' ? 'number' : 'other'
  const text = String(value)
  return { name, text: text.length > MOST_TEXT ? `${text.slice(0, MOST_TEXT)}…` : text, kind, size: 0 }
}

function isShort(value: unknown): boolean {
  return typeof value === 'number' || typeof value === 'boolean'
}
