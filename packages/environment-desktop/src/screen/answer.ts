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

/** @throws RlError `screen.action` with what is wrong, for whoever wrote it to read */
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

/** What stands in the last fence, also in one that was not closed; the whole answer where there is none. */
function lastBlock(answer: string): string {
  if (answer.length > LIMITS.source) return answer
  const pieces = answer.split(/^[ \t]*```[^\n]*$/m)
  return pieces[pieces.length - (pieces.length % 2 === 1 && pieces.length > 1 ? 2 : 1)] ?? ''
}

const ANY_SCREEN: ScreenSize = { width: 1000, height: 1000 }
const BRIEF = 200

/** How models act in a setting by this grammar; null for commands. */
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

/** The line behind `Action:`, which says what the model meant to do; else the end of the answer. */
function briefOf(answer: string): string {
  const said = [...answer.slice(-LIMITS.source).matchAll(/^[ \t]*Action:[ \t]*(\S.*)$/gm)].at(-1)?.[1]
  return (said ?? answer.slice(-4 * BRIEF)).replace(/\s+/g, ' ').trim().slice(-BRIEF)
}
