/** The chat of an agent with its model in one rollout: what each call added, and what the model answered. */
import { RlError } from '../../errors.ts'
import type { ChatCall, ChatMessage, ChatPage } from '../logic/chat-page.ts'
import { eventAt } from './event-at.ts'
import type { OpenRun } from './open-runs.ts'

const MOST_CALLS = 200
/** Messages of one call. The last ones are shown. */
const MOST_MESSAGES = 24
const MOST_LETTERS = 6_000
const MOST_TOOLS = 40

/** @throws RlError `ui.no-calls` */
export function chatPage({ log }: OpenRun, rollout: string, at: number): ChatPage {
  const recorded = eventAt(log, `CallsRecorded/${rollout}`, at)
  if (recorded?.type !== 'CallsRecorded')
    throw new RlError(`no calls of rollout '${rollout.slice(0, 100)}' were recorded`, {
      code: 'ui.no-calls',
      hint: 'agents outside that play through the gateway record theirs',
    })
  const { calls } = recorded.data
  return {
    rollout,
    position: recorded.position,
    left: Math.max(0, calls.length - MOST_CALLS),
    calls: calls.slice(0, MOST_CALLS).map(({ kept, messages, tools, answer, model, finish }): ChatCall => {
      const added = listOf(JSON.parse(messages))
      return {
        kept,
        left: Math.max(0, added.length - MOST_MESSAGES),
        messages: added.slice(-MOST_MESSAGES).map(messageOf),
        offered: tools === null ? [] : listOf(JSON.parse(tools)).slice(0, MOST_TOOLS).map(toolName),
        answer: messageOf(JSON.parse(answer)),
        model,
        finish,
      }
    }),
  }
}

type Json = Readonly<Record<string, unknown>>

function record(value: unknown): Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Json) : {}
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

function messageOf(value: unknown): ChatMessage {
  const { role, content, reasoning_content: reasoning, tool_calls: calls, tool_call_id: of } = record(value)
  return {
    role: typeof role === 'string' ? role.slice(0, 40) : 'assistant',
    text: cut(textOf(content)),
    reasoning: typeof reasoning === 'string' && reasoning !== '' ? cut(reasoning) : null,
    answers: typeof of === 'string' ? of.slice(0, 80) : null,
    calls: listOf(calls)
      .slice(0, MOST_TOOLS)
      .map((call) => {
        const { id, function: asked } = record(call)
        const { name, arguments: input } = record(asked)
        return {
          id: typeof id === 'string' ? id.slice(0, 80) : '',
          name: typeof name === 'string' ? name.slice(0, 120) : '?',
          input: cut(typeof input === 'string' ? input : JSON.stringify(input ?? null)),
        }
      }),
  }
}

/** Content is a text, or a list of parts. A part that is no text is named by its type. */
function textOf(content: unknown): string {
  if (typeof content === 'string') return content
  if (content === null || content === undefined) return ''
  if (!Array.isArray(content)) return JSON.stringify(content)
  return content
    .map((part) => {
      const { type, text } = record(part)
      return typeof text === 'string' ? text : `[${typeof type === 'string' ? type : 'part'}]`
    })
    .join('\n')
}

function toolName(tool: unknown): string {
  const { name, function: inner } = record(tool)
  const found = record(inner).name ?? name
  return typeof found === 'string' ? found.slice(0, 120) : '?'
}

function cut(text: string): string {
  return text.length > MOST_LETTERS
    ? `${text.slice(0, MOST_LETTERS)}… (${text.length - MOST_LETTERS} characters more)`
    : text
}
