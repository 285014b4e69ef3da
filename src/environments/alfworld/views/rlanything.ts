/** The view of the RLAnything reference: the whole history, numbered options, the chosen number in a box. */
import type { TextMessage } from '../../../models/port.ts'
import { type History, latest, withoutWelcome } from './history.ts'

const INSTRUCTION = `You are playing a text game in a household. Reach the goal of the task, and finish as soon as possible.
You are given everything that was observed and done so far, and the actions that are possible now, each with an index.
Think step by step, then give the index of the action you choose in \\boxed{}, for example \\boxed{0}.`

/** The prompt for the next action, as chat messages; the model's own template renders them. */
export function rlanythingPrompt(history: History): TextMessage[] {
  const lines = [`observation: ${withoutWelcome(history.first.observation)}`]
  for (const { command, after } of history.steps)
    lines.push(`you took action: ${command}`, `observation: ${after.observation}`)
  const options = latest(history).admissible.map((command, index) => `${index}) ${command}`)
  return [
    { role: 'system', content: INSTRUCTION },
    { role: 'user', content: `${lines.join('\n')}\n\nPossible actions:\n${options.join('\n')}` },
  ]
}
