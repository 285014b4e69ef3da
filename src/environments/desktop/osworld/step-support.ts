/** What of a task's steps and commands cannot be done, told before a desktop is taken for it. */
import { RlError } from '../../../errors.ts'
import { parseScript } from '../../screen/grammars/pyautogui.ts'
import type { Command } from '../computer.ts'
import { pyautoguiIn } from './pyautogui-command.ts'
import { filledIn, isSetupStep } from './setup.ts'
import type { SetupStep } from './task-file.ts'

/** What is there for a task. */
export type Supply = {
  /** Whether the file of a web address, or of a path on another machine, is here. */
  readonly file: (address: string) => boolean
  readonly program: (name: string) => boolean
}

const ANY_SCREEN = { width: 1280, height: 800 }

/** By name; nothing where it can be done. */
export function unsupportedInStep({ type, parameters }: SetupStep, supply: Supply): readonly string[] {
  if (!isSetupStep(type)) return [`step ${type}`]
  const { files, command } = parameters
  const address = { download: 'url', upload_file: 'local_path' }[type]
  if (address !== undefined)
    return Array.isArray(files) && files.some((file) => !supply.file(String(file?.[address])))
      ? ['file not here']
      : []
  if (type === 'launch') return missingProgram(parameters, supply)
  if (type !== 'execute' && type !== 'command') return []
  try {
    const code = isCommand(command) ? pyautoguiIn(filledIn(command, ANY_SCREEN)) : null
    if (code === null) return missingProgram(parameters, supply)
    parseScript(code)
    return []
  } catch (error) {
    if (error instanceof RlError && error.code === 'screen.action')
      return ['code of pyautogui that cannot be read']
    throw error
  }
}

/** The program of a command. Of a text for a shell it is not known, and a path may be that of a file that the task brings along. */
export function missingProgram(
  { command, shell }: Readonly<Record<string, unknown>>,
  { program }: Supply,
): readonly string[] {
  if (shell === true || !isCommand(command)) return []
  const name = typeof command === 'string' ? /^\s*([^\s'"\\]+)(?:\s|$)/.exec(command)?.[1] : command[0]
  return !name || name.includes('/') || program(name) ? [] : [`program ${name}`]
}

function isCommand(command: unknown): command is Command {
  return (
    typeof command === 'string' ||
    (Array.isArray(command) && command.length > 0 && command.every((one) => typeof one === 'string'))
  )
}
