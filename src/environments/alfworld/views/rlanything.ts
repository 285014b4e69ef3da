/** The view of the RLAnything reference: the whole history, numbered options, the chosen number in a box. */
import type { ChatMessage } from '../../../models/port.ts'
import { type History, latest, type ParsedAnswer, withoutWelcome } from './history.ts'

const INSTRUCTION = `You are playing a text game in a household. Reach the goal of the task, and finish as soon as possible.
You are given everything that was observed and done so far, and the actions that are possible now, each with an index.
Think step by step, then give the index of the action you choose in \\boxed{}, for example \\boxed{0}.`

/** The prompt for the next action, as chat messages; the model's own template renders them. */
export function rlanythingPrompt(history: History): ChatMessage[] {
  const lines = [`observation: ${withoutWelcome(history.first.observation)}`]
  for (const { command, after } of history.steps)
    lines.push(`you took action: ${command}`, `observation: ${after.observation}`)
  const options = latest(history).admissible.map((command, index) => `${index}) ${command}`)
  return [
    { role: 'system', content: INSTRUCTION },
    { role: 'user', content: `${lines.join('\n')}\n\nPossible actions:\n${options.join('\n')}` },
  ]
}

/**
 * The action of an answer: the first whole number in the last box. As in the reference a missing number means option 0 and one beyond
 * the last means the nearest option; unlike there, `problem` says so.
 */
export function parseRlanything(answer: string, admissible: readonly string[]): ParsedAnswer {
  const last = admissible.length - 1
  const boxes = [...answer.matchAll(/\\boxed\{([^{}]*)\}/g)]
  const box = boxes.at(-1)?.[1]
  if (box === undefined) {
    const problem = answer.includes('\\boxed{') ? 'the box is not closed' : 'there is no box'
    return { command: admissible[0] ?? '', problem }
  }
  const number = /-?\d+/.exec(box)?.[0]
  if (number === undefined) return { command: admissible[0] ?? '', problem: 'the box holds no number' }
  const index = Number(number)
  const clamped = Math.min(Math.max(index, 0), Math.max(0, last))
  const problem = index === clamped ? null : `option ${number} does not exist, the last is ${last}`
  return { command: admissible[clamped] ?? '', problem }
}
