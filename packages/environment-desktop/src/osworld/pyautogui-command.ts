/**
 * Commands with code of pyautogui: `python -c CODE`, as a list of words or as one text. Their code is parsed,
 * never run.
 */

import type { Command } from '../computer.ts'
import { actionError, shown } from '../screen/action.ts'

const PYTHON = /^(?:.*\/)?python[\d.]*$/
const AS_TEXT = /^\s*\S*python[\d.]*\s+-c\s+(?:"((?:[^"\\]|\\.)*)"|'([^']*)')\s*$/s
const SOME_CODE = /\bpython[\d.]*\s+-c\b/

/**
 * Returns the code, or null if the command is another program.
 * @throws RlError `screen.action` if code of pyautogui is only a part of a shell text; run, it would find no
 * pyautogui
 */
export function pyautoguiIn(command: Command): string | null {
  if (typeof command !== 'string') {
    const [program = '', flag, code = ''] = command
    return PYTHON.test(program) && flag === '-c' && isPyautogui(code) ? code : null
  }
  if (!isPyautogui(command) || !SOME_CODE.test(command)) return null
  const [, double, single] = AS_TEXT.exec(command) ?? []
  const code = single ?? double?.replace(/\\(["\\$`\n])/g, (_, c) => (c === '\n' ? '' : c))
  // Within double quotes a shell would replace these.
  if (code === undefined || /[$`]/.test(double?.replace(/\\./gs, '') ?? ''))
    throw actionError(`of pyautogui only 'python -c "..."' by itself can be read, not ${shown(command)}`)
  return code
}

const isPyautogui = (code: string) => /\bpyautogui\b/.test(code)
