/** The view of verl-agent (GiGPO): the last two steps, and the admissible commands as a quoted list without `help`. */

import type { ParsedAnswer } from '../../answers.ts'
import { sentenceOf } from '../tasks.ts'
import { type History, latest, withoutWelcome } from './history.ts'

const HISTORY_LENGTH = 2

export function verlPrompt(history: History): string {
  const { first, steps } = history
  const now = latest(history)
  const options = now.admissible.filter((command) => command !== 'help').map((command) => `'${command}'`)
  const task = sentenceOf(first.observation) ?? ''
  const past = steps.slice(-HISTORY_LENGTH).map(({ command }, i, shown) => {
    const number = steps.length - shown.length + i
    const before = number === 0 ? first : steps[number - 1].after
    return `[Observation ${number + 1}: '${withoutWelcome(before.observation)}', Action ${number + 1}: '${command}']`
  })
  const middle =
    steps.length === 0
      ? ''
      : `Prior to this step, you have already taken ${steps.length} step(s). Below are the most recent ${past.length} observations and the corresponding actions you took:\n${past.join('\n')}\n`
  return `You are an expert agent operating in the ALFRED Embodied Environment. Your task is to: ${task}.
${middle}You are now at step ${steps.length + 1} and your current observation is: ${withoutWelcome(now.observation)}
Your admissible actions of the current situation are: [${options.join(',\n ')}].

Now it's your turn to take an action.
You should first reason step-by-step about the current situation. This reasoning process MUST be enclosed within <think> </think> tags.
Once you've finished your reasoning, you should choose an admissible action for current step and present it within <action> </action> tags.`
}

/** The command between the last action tags; else the first admissible one, with the problem. */
export function parseVerl(answer: string, admissible: readonly string[]): ParsedAnswer {
  const action = [...answer.matchAll(/<action>([\s\S]*?)<\/action>/g)].at(-1)?.[1].trim()
  const fallback = admissible[0] ?? ''
  if (action === undefined) return { command: fallback, problem: 'there are no action tags' }
  const command = admissible.find((known) => known === action.toLowerCase())
  if (command !== undefined) return { command, problem: null }
  return { command: fallback, problem: `'${action.slice(0, 80)}' is not admissible` }
}
