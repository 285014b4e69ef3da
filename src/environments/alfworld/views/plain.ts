/** The plain view: what the game says, and what can be done, one command a line. */
import type { TextMessage } from '../../../models/port.ts'
import { type History, latest, withoutWelcome } from './history.ts'

const INSTRUCTION = `You are playing a text game in a household. Reach the goal of the task in as few commands as you can.
Answer with one of the admissible commands, exactly as it is written, and nothing else.`

export function plainPrompt(history: History): TextMessage[] {
  const turns = history.steps.flatMap(({ command, after }): TextMessage[] => [
    { role: 'assistant', content: command },
    { role: 'user', content: after.observation },
  ])
  const opening: TextMessage = { role: 'user', content: withoutWelcome(history.first.observation) }
  const messages = [opening, ...turns]
  const { content } = messages[messages.length - 1]
  const admissible = latest(history).admissible.join('\n')
  return [
    { role: 'system', content: INSTRUCTION },
    ...messages.slice(0, -1),
    { role: 'user', content: `${content}\n\nAdmissible commands:\n${admissible}` },
  ]
}
