/** Answers of models that see, in any of their grammars. They are read and never evaluated. */
import { fileURLToPath } from 'node:url'
import type { Seeing } from 'rlanything/environments'
import { RlError } from 'rlanything/kit'
import { actionError, LIMITS, type ScreenAction, type ScreenSize, withinReach } from './action.ts'
import { parseComputer13 } from './grammars/computer-13.ts'
import { parseComputerUse } from './grammars/computer-use.ts'
import type { Grammar, ScreenGrammar } from './grammars/names.ts'
import { parsePyautogui } from './grammars/pyautogui.ts'
import { parseUiTars } from './grammars/ui-tars.ts'

const PROMPTS = fileURLToPath(new URL('../../prompts/', import.meta.url))

/**
 * Reads the actions of a model's answer.
 *
 * @param screen size in pixels, for answers in other units
 * @throws RlError `screen.action` with the mistake, for the author of the answer
 * @example
 * parseAnswer('computer_13', '{"action_type": "CLICK", "parameters": {"x": 10, "y": 20}}', { width: 100, height: 100 })
 * // [{ type: 'click', at: { x: 10, y: 20 }, button: 'left', count: 1 }]
 */
export function parseAnswer(
  grammar: ScreenGrammar,
  answer: string,
  screen: ScreenSize,
): readonly ScreenAction[] {
  const actions = actionsOf(grammar, answer, screen)
  if (actions.length === 0) throw actionError('the answer holds no action')
  return withinReach(actions)
}

function actionsOf(grammar: ScreenGrammar, answer: string, screen: ScreenSize): readonly ScreenAction[] {
  switch (grammar) {
    case 'computer_use':
      return parseComputerUse(answer, screen)
    case 'ui-tars':
      return parseUiTars(answer, screen)
    case 'pyautogui':
      return parsePyautogui(lastBlock(answer))
    case 'computer_13':
      return parseComputer13(lastBlock(answer))
  }
}

/**
 * Returns the content of the last fence, also of one that was not closed. Without a fence returns the whole
 * answer.
 */
function lastBlock(answer: string): string {
  if (answer.length > LIMITS.source) return answer
  const pieces = answer.split(/^[ \t]*```[^\n]*$/m)
  return pieces[pieces.length - (pieces.length % 2 === 1 && pieces.length > 1 ? 2 : 1)] ?? ''
}

const ANY_SCREEN: ScreenSize = { width: 1000, height: 1000 }
const BRIEF = 200

/**
 * Returns how models act in a setting by this grammar. Returns null for commands.
 *
 * @example seeingBy('pyautogui')?.invalid('WAIT') // null: the answer holds an action
 */
export function seeingBy(grammar: Grammar): Seeing | null {
  if (grammar === 'commands') return null
  return {
    prompt: `${PROMPTS}screen-${grammar.replace('_', '-')}.md`,
    invalid(answer) {
      try {
        parseAnswer(grammar, answer, ANY_SCREEN)
        return null
      } catch (error) {
        if (error instanceof RlError && error.code === 'screen.action') return 'it holds no action'
        throw error
      }
    },
    brief: briefOf,
  }
}

/** Returns the line after `Action:`, which names the model's intention, or else the end of the answer. */
function briefOf(answer: string): string {
  const said = [...answer.slice(-LIMITS.source).matchAll(/^[ \t]*Action:[ \t]*(\S.*)$/gm)].at(-1)?.[1]
  return (said ?? answer.slice(-4 * BRIEF)).replace(/\s+/g, ' ').trim().slice(-BRIEF)
}
