/** Acting by texts that call tools: the episode is one chat, in which calls and their results are messages of their own. */

import type { Texts } from '../../environments/setting.ts'
import { BETWEEN_RESULTS, readCalls, withoutCalls, writeCall } from '../../environments/tool-calls.ts'
import { itemAt } from '../../item-at.ts'
import type { ChatMessage, Generation, ToolSpec } from '../../models/port.ts'
import type { PromptFile } from '../learner/prompts.ts'
import type { Acting, Prompting } from '../policy/acting.ts'
import { askingActing, packAnswer } from '../policy/prompted-acting.ts'
import type { ActRequest } from '../rollout/act.ts'

/** @param tools tools of the setting, for episodes that bring none */
export function toolActing(
  { invalid }: Texts,
  tools: readonly ToolSpec[],
  prompt: PromptFile,
  prompting: Prompting,
): Acting {
  const segments = growingSegments()
  return askingActing(prompt, {
    promptOf: (act, shown = prompting.historySteps ?? act.actions.length) => ({
      messages: [
        ...prompt.render({ goal: act.goal, problem: itemAt(act.observations, 0) }),
        ...turns(act, shown),
      ],
      tools: act.tools ?? tools,
    }),
    read(generation) {
      const action = actionOf(generation)
      return { action, invalid: invalid?.(action) ?? null }
    },
    pack(generation, act) {
      const from = segments.goOn(act, generation)
      return { tokens: packAnswer(generation, prompting, from), continues: from > 0 }
    },
  })
}

/** Number of episodes whose tokens are remembered. A forgotten episode begins a new segment. */
const REMEMBERED = 4_096

/**
 * Keeps the open segments of growing chats. The prompt of such a chat begins with everything read and said before. So
 * the step continues the open segment.
 */
function growingSegments() {
  /** Tokens of each rollout's open segment. */
  const open = new Map<string, Int32Array>()
  return {
    /**
     * Returns the number of prompt tokens that stand in the open segment already. Returns 0 if a new segment begins.
     */
    goOn({ rollout, packedTokens }: ActRequest, { promptTokens, tokens, logprobs }: Generation): number {
      const before = open.get(rollout)
      open.delete(rollout)
      if (!promptTokens || !tokens || !logprobs) return 0
      const all = new Int32Array(promptTokens.length + tokens.length)
      all.set(promptTokens)
      all.set(tokens, promptTokens.length)
      open.set(rollout, all)
      if (open.size > REMEMBERED) open.delete(open.keys().next().value as string)
      const grows = before?.length === packedTokens && before.every((token, i) => token === promptTokens[i])
      return grows ? before.length : 0
    },
  }
}

/** The text, calls in one form whether the endpoint told them apart or not. */
function actionOf({ text, toolCalls = [] }: Generation): string {
  const calls = toolCalls.map((call) => writeCall(call.name, valuesOf(call.arguments)))
  return [...(text === '' ? [] : [text]), ...calls].join('\n')
}

/** Parses arguments. Arguments that are not JSON stay a text, and the environment says what is wrong with them. */
function valuesOf(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

/** Returns the latest steps: the model's texts and calls, and their results. */
function turns({ actions, observations }: ActRequest, shown: number): ChatMessage[] {
  const first = actions.length - Math.min(shown, actions.length)
  const leftOut: ChatMessage[] =
    first === 0 ? [] : [{ role: 'user', content: `(${first} earlier steps are left out)` }]
  return [
    ...leftOut,
    ...actions.slice(first).flatMap((action, i): ChatMessage[] => {
      const step = first + i
      const result = itemAt(observations, step + 1)
      const calls = readCalls(action).flatMap((call, at) => ('name' in call ? [{ ...call, at }] : []))
      if (calls.length === 0)
        return [
          { role: 'assistant', content: action },
          { role: 'user', content: result },
        ]
      const ids = calls.map((_, index) => `call_${step}_${index}`)
      const results = result.split(BETWEEN_RESULTS)
      return [
        {
          role: 'assistant',
          content: withoutCalls(action),
          toolCalls: calls.map(({ at: _, ...call }, index) => ({ id: ids[index], ...call })),
        },
        ...ids.map((toolCallId, index): ChatMessage => {
          // What could not be read was answered too, in its place: a message holds what lies before the next call's.
          const from = index === 0 ? 0 : itemAt(calls, index).at
          const content = results.slice(from, calls[index + 1]?.at).join(BETWEEN_RESULTS)
          return { role: 'tool', content, toolCallId }
        }),
      ]
    }),
  ]
}
