/** The view of ReAct (Yao et al., 2023): one growing text, thoughts among the actions. */

import type { ParsedAnswer } from '../../answers.ts'
import { NOTHING_HAPPENS } from '../engine.ts'
import { type History, withoutWelcome } from './history.ts'

/** What a thought is answered with. */
export const THOUGHT_ANSWER = 'OK.'

/**
 * The text up to the `>` behind which the model writes the next action or `think: …`.
 * @param demonstrations solved episodes to put in front, as the published prompts do
 */
export function reactPrompt(history: History, demonstrations: readonly string[] = []): string {
  const head = ['Interact with a household to solve a task.']
  if (demonstrations.length > 0) head.push(`Here are ${demonstrations.length} examples.`, ...demonstrations)
  if (demonstrations.length > 0) head.push('Here is the task.')
  const lines = [...head, withoutWelcome(history.first.observation)]
  for (const { command, after } of history.steps)
    lines.push(`> ${command}`, reactObservation(after.observation))
  return `${lines.join('\n')}\n>`
}

/** The observation as ReAct shows it: of releases up to 2.1.1 without `You arrive at loc 24. `. */
export function reactObservation(observation: string): string {
  return observation.startsWith('You arrive at loc ')
    ? observation.slice(observation.indexOf('. ') + 2)
    : observation
}

export type ReactAction = { readonly thought: string } | ParsedAnswer

/**
 * The first line of a completion: a thought, which costs a step but reaches no game, or a command. The games word putting as `move X to
 * Y` or `put X in/on Y`; either is understood. What is not admissible is passed on as it is: the game answers that nothing happens.
 */
export function parseReact(completion: string, admissible: readonly string[]): ReactAction {
  const line = (completion.trimStart().split('\n')[0] ?? '').replace(/^>\s*/, '').trim()
  if (/^think:/i.test(line)) return { thought: line.slice('think:'.length).trim() }
  if (admissible.includes(line)) return { command: line, problem: null }
  const put = /^(?:put|move) (.+?) (?:in\/on|in|on|to) (.+)$/.exec(line)
  const other = put && [`move ${put[1]} to ${put[2]}`, `put ${put[1]} in/on ${put[2]}`]
  const found = other?.find((command) => admissible.includes(command))
  if (found !== undefined) return { command: found, problem: null }
  const problem = line === '' ? 'the answer is empty' : `'${line.slice(0, 80)}': ${NOTHING_HAPPENS}`
  return { command: line, problem }
}
