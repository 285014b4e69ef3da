/** A text before all else that a chat tells a model. */
import { isRecord } from '../is-record.ts'

const SYSTEM = new Set(['system', 'developer'])

/**
 * Returns the chat with a text before its own. The text joins the system message that the chat begins with: many
 * templates take only one. An empty text changes nothing.
 * @example withSystemText([{ role: 'user', content: 'hi' }], 'Be brief.')[0] // { role: 'system', content: 'Be brief.' }
 */
export function withSystemText<Message>(messages: readonly Message[], text: string): readonly Message[] {
  if (text === '') return messages
  const [first, ...rest] = messages as readonly unknown[]
  if (isRecord(first) && typeof first.role === 'string' && SYSTEM.has(first.role)) {
    const { content } = first
    if (typeof content === 'string')
      return [{ ...first, content: content === '' ? text : `${text}\n\n${content}` }, ...rest] as Message[]
    if (Array.isArray(content))
      return [{ ...first, content: [{ type: 'text', text }, ...content] }, ...rest] as Message[]
  }
  return [{ role: 'system', content: text } as Message, ...messages]
}
