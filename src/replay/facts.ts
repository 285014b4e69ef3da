/** Compares decisions with the log. Everything except measured values must be the same. */
import type { NewEvent } from '../events/catalogue.ts'
import { withoutMeasurements } from '../events/digest.ts'
import { packCanonical } from '../events/msgpack.ts'

/** Bytes that are equal for equal facts. */
export function factOf({ type, data }: NewEvent): Uint8Array {
  return packCanonical([type, withoutMeasurements(data)])
}

export function sameFact(a: NewEvent, b: NewEvent): boolean {
  return a.type === b.type && same(withoutMeasurements(a.data), withoutMeasurements(b.data))
}

/** Whether `difference` finds nothing. Most compared values are equal, and then no path has to be built. */
function same(a: unknown, b: unknown): boolean {
  if (!isParts(a) || !isParts(b)) return sameValue(a, b)
  if (a instanceof Uint8Array && b instanceof Uint8Array) return Buffer.compare(a, b) === 0
  if (Array.isArray(a) && Array.isArray(b))
    return a.length === b.length && a.every((value, index) => same(value, b[index]))
  for (const name in a) if (!same(a[name], b[name])) return false
  for (const name in b) if (b[name] !== undefined && !(name in a)) return false
  return true
}

/**
 * Returns the first difference of two facts, e.g. `data.accuracy.n: 7, not 8`. Returns null if they are the
 * same.
 */
export function differenceOf(expected: NewEvent, found: NewEvent): string | null {
  if (expected.type !== found.type) return `type: ${found.type}, not ${expected.type}`
  return difference(withoutMeasurements(expected.data), withoutMeasurements(found.data), 'data')
}

function difference(expected: unknown, found: unknown, path: string): string | null {
  if (expected instanceof Uint8Array && found instanceof Uint8Array)
    return Buffer.compare(expected, found) === 0 ? null : `${path}: other bytes`
  if (isParts(expected) && isParts(found)) {
    for (const name of new Set([...Object.keys(expected), ...Object.keys(found)])) {
      const inner = difference(expected[name], found[name], `${path}.${name}`)
      if (inner !== null) return inner
    }
    return null
  }
  return sameValue(expected, found) ? null : `${path}: ${short(found)}, not ${short(expected)}`
}

/** Compares by bytes: 0 and -0 are the same number there. */
function sameValue(a: unknown, b: unknown): boolean {
  return a === b || (Number.isNaN(a) && Number.isNaN(b))
}

function isParts(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null
}

function short(value: unknown): string {
  const text = value === undefined ? 'nothing' : JSON.stringify(value)
  return text.length > 80 ? `${text.slice(0, 79)}…` : text
}

/**
 * Returns a contradiction between a result and its request: fields that both have must agree. Returns null if
 * they do.
 */
export function contradictionOf(input: unknown, { data }: NewEvent): string | null {
  if (!isParts(input)) return null
  const given = data as Readonly<Record<string, unknown>>
  for (const name of Object.keys(input))
    if (Object.hasOwn(given, name)) {
      const inner = difference(input[name], given[name], `data.${name}`)
      if (inner !== null) return inner
    }
  return null
}
