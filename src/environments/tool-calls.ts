/**
 * Calls of tools in a model's text, in the form of Hermes: `<tool_call>{"name": ..., "arguments":
 * {...}}</tool_call>`.
 */

import { cutAtTags } from '../tagged.ts'

const TAG = 'tool_call'

export type ReadCall =
  | { readonly name: string; readonly arguments: Readonly<Record<string, unknown>> }
  | { readonly unreadable: string }

/** Separates the results of several calls of one turn. */
export const BETWEEN_RESULTS = '\n\n'

/**
 * Returns the calls of a text in their order. Arguments may be an object, or an object as JSON text.
 *
 * @example readCalls('<tool_call>{"name": "add", "arguments": {"a": 1}}</tool_call>') // [{ name: 'add', arguments: { a: 1 } }]
 */
export function readCalls(text: string): ReadCall[] {
  return cutAtTags(text, TAG).bodies.map((written) => {
    const body = written.trim()
    const call = objectOf(body)
    const values = typeof call?.arguments === 'string' ? objectOf(call.arguments) : (call?.arguments ?? {})
    if (typeof call?.name !== 'string' || !isObject(values)) return { unreadable: body.slice(0, 100) }
    return { name: call.name, arguments: values }
  })
}

/**
 * Returns a text without its calls.
 *
 * @example withoutCalls('I add. <tool_call>{"name": "add"}</tool_call>') // 'I add.'
 */
export function withoutCalls(text: string): string {
  return cutAtTags(text, TAG).between.join('').trim()
}

/**
 * Returns a call as a model would write it.
 *
 * @example writeCall('add', { a: 1 }) // '<tool_call>{"name":"add","arguments":{"a":1}}</tool_call>'
 */
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
