/**
 * Detects markup that an agent types. Some pages write typed text into themselves unchanged. A button or a
 * script of the agent's own could then give it any reward.
 */
import { type ScreenAction, withShift } from '@rlanything/environment-desktop/screen'
import type { Command } from './command.ts'
import type { Step } from './steps.ts'

/** The beginning of a tag, also as a character reference, a handler of events, an address that is a script. */
const MARKUP = /<|&lt|&#|\bon\w+\s*=|javascript:/i

/** Whether a step completes markup that the task does not have. */
export function bringsMarkup(before: readonly Step[], step: Step, goal: string): boolean {
  if (writtenBy([step]) === '' || MARKUP.test(goal)) return false
  return MARKUP.test(writtenBy([...before, step]))
}

/** Returns the text that the steps write into fields. Each letter may be an action of its own. */
function writtenBy(steps: readonly Step[]): string {
  let shift = false
  return steps
    .flatMap((step) => {
      if (step.kind === 'command') return writtenByCommand(step.command)
      return step.actions.flatMap((action) => {
        if (action.type === 'key-down' || action.type === 'key-up')
          shift = SHIFT.test(action.key) ? action.type === 'key-down' : shift
        return lettersOf(action, shift)
      })
    })
    .join('')
}

const SHIFT = /^shift/

function writtenByCommand([verb, , argument = '']: Command): string {
  if (verb === 'type') return argument
  const [, shift, key = ''] = /^(?:ctrl\+|(shift)\+)?(.)$/su.exec(verb === 'press' ? argument : '') ?? []
  return shift ? withShift(key) : key
}

function lettersOf(action: ScreenAction, shift: boolean): readonly string[] {
  if (action.type === 'type') return [...action.text].map((letter) => (shift ? withShift(letter) : letter))
  if (action.type === 'key-down') return lettersOf({ type: 'press', keys: [action.key] }, shift)
  if (action.type !== 'press' && action.type !== 'hotkey') return []
  const isShifted = shift || (action.type === 'hotkey' && action.keys.some((key) => SHIFT.test(key)))
  return action.keys.filter((key) => key.length === 1).map((key) => (isShifted ? withShift(key) : key))
}
