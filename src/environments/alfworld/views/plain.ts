/** The plain view: what the game says, and what can be done, one command a line. */
import type { ChatMessage } from '../../../models/port.ts'
import { type History, latest, type ParsedAnswer, withoutWelcome } from './history.ts'

const INSTRUCTION = `You are playing a text game in a household. Reach the goal of the task in as few commands as you can.
Answer with one of the admissible commands, exactly as it is written, and nothing else.`

export function plainPrompt(history: History): ChatMessage[] {
  const turns = history.steps.flatMap(({ command, after }): ChatMessage[] => [
    { role: 'assistant', content: command },
    { role: 'user', content: after.observation },
  ])
  const opening: ChatMessage = { role: 'user', content: withoutWelcome(history.first.observation) }
  const messages = [opening, ...turns]
  const { content } = messages[messages.length - 1]
  const admissible = latest(history).admissible.join('\n')
  return [
    { role: 'system', content: INSTRUCTION },
    ...messages.slice(0, -1),
    { role: 'user', content: `${content}\n\nAdmissible commands:\n${admissible}` },
  ]
}

/** The last line of the answer that is an admissible command; else the first admissible one, with the problem. */
export function parsePlain(answer: string, admissible: readonly string[]): ParsedAnswer {
  const lines = answer.split('\n').map((line) => line.trim().replace(/^[>*\-\s]+|[.`*"'\s]+$/g, ''))
  const command = lines.findLast((line) => admissible.includes(line))
  if (command !== undefined) return { command, problem: null }
  const said = lines.findLast((line) => line !== '')
  const problem = said === undefined ? 'the answer is empty' : `'${said.slice(0, 80)}' is not admissible`
  return { command: admissible[0] ?? '', problem }
}
