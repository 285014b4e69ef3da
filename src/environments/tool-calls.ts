/** Calls of tools in a model's text, in the form of Hermes: `<tool_call>{"name": ..., "arguments": {...}}</tool_call>`. */

import { cutAtTags } from '../tagged.ts'

const TAG = 'tool_call'

export type ReadCall =
  | { readonly name: string; readonly arguments: Readonly<Record<string, unknown>> }
  | { readonly unreadable: string }

/** Between the results of several calls of one turn. */
export const BETWEEN_RESULTS = '\n\n'

/** In the order in which they stand. Arguments may be an object, or its JSON as a text. */
export function readCalls(text: string): ReadCall[] {
  return cutAtTags(text, TAG).bodies.map((written) => {
    const body = written.trim()
    const call = objectOf(body)
    const values = typeof call?.arguments === 'string' ? objectOf(call.arguments) : (call?.arguments ?? {})
    if (typeof call?.name !== 'string' || !isObject(values)) return { unreadable: body.slice(0, 100) }
    return { name: call.name, arguments: values }
  })
}

/** What is left of a text without its calls. */
export function withoutCalls(text: string): string {
  return cutAtTags(text, TAG).between.join('').trim()
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
