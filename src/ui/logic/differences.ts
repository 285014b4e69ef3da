/** Contexts of deciders as plain values, and what two of them differ in. */
import type { Change } from './answers.ts'

/** Deeper values are told by their kind alone. */
const DEEPEST = 14
/** Changes that are listed. */
const MOST_CHANGES = 60
/** Characters of a value in a change. */
const MOST_TEXT = 160

/**
 * Returns a value without maps, sets and binary data, e.g. for JSON. A map becomes an object, a set an array.
 * @example plainValue(new Map([[3, new Set(['a'])]])) // { 3: ['a'] }
 */
export function plainValue(value: unknown, above: readonly unknown[] = []): unknown {
  if (typeof value === 'number' && !Number.isFinite(value)) return String(value)
  if (value === undefined) return null
  if (value === null || typeof value !== 'object') return typeof value === 'bigint' ? String(value) : value
  if (above.includes(value)) return '(a value above this one)'
  if (above.length === DEEPEST) return '(deeper than is shown)'
  const inner = [...above, value]
  if (value instanceof Uint8Array) return `(${value.byteLength} bytes)`
  if (value instanceof Set || Array.isArray(value)) return [...value].map((item) => plainValue(item, inner))
  const entries = value instanceof Map ? [...value] : Object.entries(value)
  return Object.fromEntries(entries.map(([key, item]) => [String(key), plainValue(item, inner)]))
}

/**
 * Returns what differs between two plain values, and the number of all differences. A value that is not there is null.
 * @example differences({ a: 1 }, { a: 2 }).list // [{ path: 'a', before: '1', after: '2' }]
 */
export function differences(
  before: unknown,
  after: unknown,
): { readonly list: readonly Change[]; readonly total: number } {
  const list: Change[] = []
  let total = 0

  function compare(path: readonly string[], old: unknown, now: unknown): void {
    if (isTree(old) && isTree(now) && Array.isArray(old) === Array.isArray(now)) {
      for (const key of new Set([...Object.keys(old), ...Object.keys(now)]))
        compare([...path, key], under(old, key), under(now, key))
      return
    }
    if (Object.is(old, now) || (isTree(old) && isTree(now) && JSON.stringify(old) === JSON.stringify(now)))
      return
    total++
    if (list.length < MOST_CHANGES)
      list.push({ path: path.join('.'), before: textOf(old), after: textOf(now) })
  }

  compare([], before, after)
  return { list, total }
}

function isTree(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null
}

function under(tree: Readonly<Record<string, unknown>>, key: string): unknown {
  return Object.hasOwn(tree, key) ? tree[key] : undefined
}

function textOf(value: unknown): string | null {
  if (value === undefined) return null
  const text = JSON.stringify(value)
  return text.length > MOST_TEXT ? `${text.slice(0, MOST_TEXT - 1)}…` : text
}
