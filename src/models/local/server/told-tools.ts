/** Tools in plain messages, for models whose chat template knows none. The words are those of Qwen's template. */
import type { TextMessage } from '../../port.ts'
import { callText, spacedJson } from './call-texts.ts'

/**
 * Returns messages that every template reads. The system message tells the tools, calls stand in the assistant's text,
 * and results of tools are messages of the user.
 * @param tools in the shape of OpenAI's API; none are told if it is empty
 */
export function withToldTools(
  messages: readonly TextMessage[],
  tools: readonly unknown[],
): readonly TextMessage[] {
  const told = messages.map(plain)
  const joined: TextMessage[] = []
  for (const [i, message] of told.entries()) {
    const last = joined.at(-1)
    // Some templates want users and assistants in turn.
    if (last && messages[i]?.role === 'tool' && messages[i - 1]?.role === 'tool')
      joined.splice(-1, 1, { ...last, content: `${last.content}\n${message.content}` })
    else joined.push(message)
  }
  if (tools.length === 0) return joined
  const [first, ...rest] = joined
  const own = first?.role === 'system' ? `${first.content}\n\n` : ''
  return [{ role: 'system', content: `${own}${described(tools)}` }, ...(own === '' ? joined : rest)]
}

function plain({ role, content, toolCalls = [] }: TextMessage): TextMessage {
  if (role === 'tool') return { role: 'user', content: `<tool_response>\n${content}\n</tool_response>` }
  const calls = toolCalls.map(({ name, arguments: values }) => callText(name, values))
  return { role, content: calls.length === 0 ? content : [content, ...calls].filter(Boolean).join('\n') }
}

function described(tools: readonly unknown[]): string {
  return [
    '# Tools',
    '',
    'You may call one or more functions to assist with the user query.',
    '',
    'You are provided with function signatures within <tools></tools> XML tags:',
    '<tools>',
    ...tools.map(spacedJson),
    '</tools>',
    '',
    'For each function call, return a json object with function name and arguments within <tool_call></tool_call> XML tags:',
    '<tool_call>',
    '{"name": <function-name>, "arguments": <args-json-object>}',
    '</tool_call>',
  ].join('\n')
}
