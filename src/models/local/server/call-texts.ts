/** Lists all calls that tools allow, if they are few. A model that must call a tool then writes one of them under a trie. */
import { pythonNumber } from '../../../exact-json.ts'
import { WrittenNumber } from '../written-numbers.ts'
import { jsonTexts } from './json-texts.ts'

export type OfferedTool = {
  readonly name: string
  /** JSON schema of the arguments. */
  readonly parameters: unknown
  /** Field with the schema, for messages. */
  readonly param: string
}

/**
 * Returns the calls in Hermes' form, spaced as chat templates write them. So a call is the same tokens in the next prompt.
 * @throws ApiError 400 with the place in the schema, if a tool takes more arguments than can be listed
 * @example
 * callTexts([{ name: 'add', parameters: { type: 'object', properties: { a: { const: 1 } }, required: ['a'] }, param: 'tools' }])
 * // ['<tool_call>\n{"name": "add", "arguments": {"a": 1}}\n</tool_call>']
 */
export function callTexts(tools: readonly OfferedTool[]): string[] {
  return tools.flatMap(({ name, parameters, param }) =>
    jsonTexts(parameters, param).map((text) => callText(name, JSON.parse(text))),
  )
}

/** Returns a call in Hermes' form. */
export function callText(name: string, values: unknown): string {
  return `<tool_call>\n${spacedJson({ name, arguments: values })}\n</tool_call>`
}

/** Returns JSON as Python writes it: with a space after each comma and colon, and numbers with their digits. */
export function spacedJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(spacedJson).join(', ')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  if (value instanceof WrittenNumber) return pythonNumber(value[' number'])
  const members = Object.entries(value).map(([key, each]) => `${JSON.stringify(key)}: ${spacedJson(each)}`)
  return `{${members.join(', ')}}`
}
