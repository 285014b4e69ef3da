/**
 * Markup that an agent types. Some pages write what was typed into themselves as it is: a button or a script of the agent's own could
 * give it any reward.
 */
import type { ScreenAction } from '../screen/action.ts'
import type { Step } from './steps.ts'

/** The beginning of a tag, also as a character reference, a handler of events, an address that is a script. */
const MARKUP = /<|&lt|&#|\bon\w+\s*=|javascript:/i

/** Whether a step completes markup that the task does not have. */
export function bringsMarkup(before: readonly Step[], step: Step, goal: string): boolean {
  const last = writtenBy(step)
  if (last === '' || MARKUP.test(goal)) return false
  return MARKUP.test(before.map(writtenBy).join('') + last)
}

/** What it writes into fields, where each letter may be an action of its own. */
function writtenBy(step: Step): string {
  if (step.kind === 'screen') return step.actions.flatMap(lettersOf).join('')
  const [verb, , argument = ''] = step.command
  if (verb === 'type') return argument
  const key = argument.replace(/^(?:ctrl|shift)\+(?=.)/, '')
  return verb === 'press' && key.length === 1 ? key : ''
}

function lettersOf(action: ScreenAction): readonly string[] {
  if (action.type === 'type') return [action.text]
  const keys =
    action.type === 'press' || action.type === 'hotkey'
      ? action.keys
      : action.type === 'key-down'
        ? [action.key]
        : []
  return keys.filter((key) => key.length === 1)
}
