/** Changes between two values, field by field. */

export type Change = {
  /** e.g. `goal.object`, or `tests.3`. */
  readonly path: string
  /** As JSON. Null if the value was not there before. */
  readonly before: string | null
  /** As JSON. Null if the value is not there any more. */
  readonly after: string | null
}

/** Most characters of a shown value, and most changes. */
const MOST_TEXT = 500
const MOST_CHANGES = 200

/**
 * Returns the changed leaves in order. Values of equal form are compared within, other ones as a whole.
 * @example structuralDiff({ size: 3 }, { size: 4, kind: 'x' })
 * // [{ path: 'size', before: '3', after: '4' }, { path: 'kind', before: null, after: '"x"' }]
 */
export function structuralDiff(before: unknown, after: unknown): readonly Change[] {
  const found: Change[] = []
  compare(before, after, '', found)
  return found.slice(0, MOST_CHANGES)
}

function compare(before: unknown, after: unknown, path: string, found: Change[]): void {
  if (found.length >= MOST_CHANGES) return
  if (isFields(before) && isFields(after) && Array.isArray(before) === Array.isArray(after)) {
    for (const name of new Set([...Object.keys(before), ...Object.keys(after)]))
      compare(fieldOf(before, name), fieldOf(after, name), path === '' ? name : `${path}.${name}`, found)
    return
  }
  const [was, is] = [textOf(before), textOf(after)]
  if (was !== is) found.push({ path, before: cutText(was), after: cutText(is) })
}

function isFields(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null
}

function fieldOf(value: Readonly<Record<string, unknown>>, name: string): unknown {
  return Object.hasOwn(value, name) ? value[name] : undefined
}

function textOf(value: unknown): string | null {
  return value === undefined ? null : (JSON.stringify(value) ?? null)
}

function cutText(text: string | null): string | null {
  return text !== null && text.length > MOST_TEXT ? `${text.slice(0, MOST_TEXT)}…` : text
}
