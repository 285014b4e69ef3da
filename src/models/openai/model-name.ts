/**
 * Compares the model name in an answer with the name in the request. A router, or a server that lost an adapter, answers with another one.
 */

/** Dates and marks that servers append to the requested name. */
const SUFFIX = /(?:[-@]\d{4}-?\d{2}-?\d{2}|:latest)$/

/** Names are the same despite an owner or a folder in front, a date at the end, or other capitals. */
export function isSameModel(asked: string, told: string): boolean {
  const plain = (name: string) =>
    name
      .trim()
      .toLowerCase()
      .replace(/\.gguf$/, '')
  const [a, b] = [plain(asked), plain(told)]
  return isOneWithPath(a, b) || isOneWithPath(a, b.replace(SUFFIX, ''))
}

function isOneWithPath(a: string, b: string): boolean {
  return a === b || a.endsWith(`/${b}`) || b.endsWith(`/${a}`)
}
