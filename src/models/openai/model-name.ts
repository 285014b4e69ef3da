/**
 * Tells whether an answer comes from the requested model. A router, or a server that lost an adapter, may use another
 * one.
 */

/** Dates and marks that servers put behind the name that they were asked by. */
const SUFFIX = /(?:[-@]\d{4}-?\d{2}-?\d{2}|:latest)$/

/** One name may have an owner or a folder in front, a date behind it, or other capitals. */
export function isSameModel(asked: string, told: string): boolean {
  const [a, b] = [asked, told].map((name) =>
    name
      .trim()
      .toLowerCase()
      .replace(/\.gguf$/, ''),
  )
  return isOneWithPath(a, b) || isOneWithPath(a, b.replace(SUFFIX, ''))
}

function isOneWithPath(a: string, b: string): boolean {
  return a === b || a.endsWith(`/${b}`) || b.endsWith(`/${a}`)
}
