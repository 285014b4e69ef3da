/**
 * Tools. The chat template describes them to the model. The model calls them in Hermes' form, `<tool_call>{"name",
 * "arguments"}</tool_call>`.
 */
import { randomUUID } from 'node:crypto'
import { z } from 'zod'
import { parseExact } from '../../../exact-json.ts'
import { safeParse } from '../../../safe-parse.ts'
import { cutAtTags } from '../../../tagged.ts'
import { byName } from '../../names.ts'

export type ToolCall = {
  readonly id: string
  readonly type: 'function'
  readonly function: { readonly name: string; readonly arguments: string }
}

const called = z
  .looseObject({ name: z.string().min(1), arguments: byName(z.unknown()).optional() })
  // A call without `arguments` must have no other field: the arguments may be there under another name.
  .refine((call) => call.arguments !== undefined || Object.keys(call).length === 1)
  .transform(({ name, arguments: values = {} }) => ({ name, arguments: values }))

/** Callable tools by name. Each function tests whether the tool takes these arguments. */
export type Callable = ReadonlyMap<string, (values: Readonly<Record<string, unknown>>) => boolean>

/**
 * Separates a model's text from its tool calls. A call stays text if it cannot be read, names an unknown tool, or has arguments that the
 * tool does not take. So the client sees what the model said.
 * @param onlyOne whether further calls are left out
 */
export function readToolCalls(
  text: string,
  tools: Callable,
  onlyOne: boolean,
): { readonly content: string; readonly calls: readonly ToolCall[] } {
  const calls: ToolCall[] = []
  const { between, bodies } = cutAtTags(text, 'tool_call')
  const told = bodies.map((body) => {
    const parsed = safeParse(called, jsonOf(body))
    if (!parsed.success || !tools.get(parsed.data.name)?.(parsed.data.arguments))
      return `<tool_call>${body}</tool_call>`
    const { name } = parsed.data
    if (calls.length === 0 || !onlyOne)
      calls.push({
        id: `call_${randomUUID().replaceAll('-', '').slice(0, 24)}`,
        type: 'function',
        function: { name, arguments: argumentsOf(body) },
      })
    return ''
  })
  if (calls.length === 0) return { content: text, calls }
  return {
    content: between
      .map((words, i) => words + (told[i] ?? ''))
      .join('')
      .trim(),
    calls,
  }
}

/** Returns the arguments of a call as compact JSON. Integers beyond the range of numbers keep every digit. */
function argumentsOf(body: string): string {
  return JSON.stringify((parseExact(body) as { readonly arguments?: unknown }).arguments ?? {})
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}
