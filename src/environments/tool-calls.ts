/** Calls of tools in a model's text, in the form of Hermes: `<tool_call>{"name": ..., "arguments": {...}}</tool_call>`. */

export type ReadCall =
  | { readonly name: string; readonly arguments: Readonly<Record<string, unknown>> }
  | { readonly unreadable: string }

/** Between the results of several calls of one turn. */
export const BETWEEN_RESULTS = '\n\n'

const OPEN = '<tool_call>'
const CLOSE = '</tool_call>'

/** A text cut at its calls, in time that grows with its length alone: a model may write anything, such as a thousand empty lines. */
function cut(text: string): { readonly between: readonly string[]; readonly bodies: readonly string[] } {
  const between: string[] = []
  const bodies: string[] = []
  let at = 0
  for (;;) {
    const open = text.indexOf(OPEN, at)
    const close = open < 0 ? -1 : text.indexOf(CLOSE, open + OPEN.length)
    if (close < 0) return { between: [...between, text.slice(at)], bodies }
    between.push(text.slice(at, open))
    bodies.push(text.slice(open + OPEN.length, close).trim())
    at = close + CLOSE.length
  }
}

/** In the order in which they stand. Arguments may be an object, or its JSON as a text. */
export function readCalls(text: string): ReadCall[] {
  return cut(text).bodies.map((body) => {
    const call = objectOf(body)
    const values = typeof call?.arguments === 'string' ? objectOf(call.arguments) : (call?.arguments ?? {})
    if (typeof call?.name !== 'string' || !isObject(values)) return { unreadable: body.slice(0, 100) }
    return { name: call.name, arguments: values }
  })
}

/** What is left of a text without its calls. */
export function withoutCalls(text: string): string {
  return cut(text).between.join('').trim()
}

export function writeCall(name: string, values: unknown): string {
  return `<tool_call>${JSON.stringify({ name, arguments: values })}</tool_call>`
}

function objectOf(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text)
    return isObject(value) ? value : null
  } catch {
    return null
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
