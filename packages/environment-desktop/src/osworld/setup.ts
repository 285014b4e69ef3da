/** The steps of a task's `config` and `postconfig`, done on a desktop in their order. */

import { setTimeout as sleep } from 'node:timers/promises'
import { itemAt, RlError } from 'rlanything/kit'
import type { Command, Computer, Executed, WindowQuery } from '../computer.ts'
import type { ScreenSize } from '../screen/action.ts'
import { parseScript } from '../screen/grammars/pyautogui.ts'
import { readHere } from './files-here.ts'
import { pyautoguiIn } from './pyautogui-command.ts'
import { programsIn } from './shell-programs.ts'
import type { SetupStep } from './task-file.ts'

export type SetupContext = {
  readonly computer: Computer
  readonly task: string
  /** Folder of the files that tasks name by a web address. */
  readonly folder: string | null
  /** Fetched files and outputs of programs, by the names that the task gives them. */
  readonly cache: Map<string, Uint8Array>
  /** Whether steps go on behind a program that failed: behind the agent's work that may be the agent's doing. */
  readonly lenient?: boolean
}

/** Programs that end with a status above 0 if there was nothing to do. */
const IDLE_STATUS = new Set([
  'pkill',
  'killall',
  'kill',
  'pgrep',
  'grep',
  'diff',
  'cmp',
  'test',
  'wmctrl',
  'xdotool',
])

const LONGEST_SLEEP_S = 60
const [POLL_MS, LONGEST_POLL_MS] = [300, 60_000]
const PASSWORD = 'password'

type Parameters = Readonly<Record<string, unknown>>
type Step = (context: SetupContext, parameters: Parameters) => Promise<void>

/**
 * OSWorld's steps by their names. Two are our own: `write_file` (`{path, text}` or `{path, base64}`) and
 * `wait_for_window` (the parameters of `activate_window`).
 */
const STEPS: Readonly<Record<string, Step>> = {
  write_file: async ({ computer }, { path, text, base64 }) => {
    const bytes =
      typeof base64 === 'string' ? Buffer.from(base64, 'base64') : Buffer.from(wordIn('text', text))
    await computer.writeFile(wordIn('path', path), bytes)
  },
  download: async ({ computer, task, folder }, { files }) => {
    for (const { url, path } of listOf('files', files))
      await computer.writeFile(wordIn('path', path), readHere(folder, task, wordIn('url', url)))
  },
  upload_file: async ({ computer, task, folder }, { files }) => {
    for (const { local_path: from, path } of listOf('files', files))
      await computer.writeFile(wordIn('path', path), readHere(folder, task, wordIn('local_path', from)))
  },
  launch: async ({ computer }, parameters) => {
    const { command, shell } = await commandIn(computer, parameters)
    await ifThere(() => computer.launch(command, { shell }))
  },
  open: ({ computer }, { path }) => computer.openFile(wordIn('path', path)),
  execute,
  command: execute,
  activate_window: async ({ computer }, parameters) => {
    await computer.activateWindow(windowIn(parameters))
  },
  close_window: async ({ computer }, parameters) => {
    await computer.closeWindow(windowIn(parameters))
  },
  wait_for_window: ({ computer }, parameters) => computer.waitForWindow(windowIn(parameters)),
  sleep: async (_, { seconds }) => {
    if (typeof seconds !== 'number' || !(seconds >= 0) || seconds > LONGEST_SLEEP_S)
      throw wrong(`seconds is ${seconds}`)
    await sleep(seconds * 1000)
  },
}

export function isSetupStep(type: string): boolean {
  return Object.hasOwn(STEPS, type)
}

/** @throws RlError `desktop.task` if a step cannot be read or fails, or an error of the desktop */
export async function setUp(context: SetupContext, steps: readonly SetupStep[]): Promise<void> {
  for (const { type, parameters } of steps) {
    const step = isSetupStep(type) ? STEPS[type] : undefined
    if (step === undefined) throw wrong(`the step '${type}' is not supported`)
    try {
      await step(context, parameters)
    } catch (cause) {
      if (cause instanceof RlError && cause.code !== 'desktop.refused') throw cause
      throw new RlError(
        `task ${context.task}: the step '${type}' failed: ${cause instanceof Error ? cause.message : cause}`,
        {
          code: 'desktop.task',
          cause,
        },
      )
    }
  }
}

/**
 * Executes a command. Code of pyautogui is parsed, never run. With `until` a program runs again until the
 * named status, output or errors appear. `stdout` and `stderr` name its outputs, for the getter `cache_file`.
 */
async function execute(
  { computer, cache, lenient = false }: SetupContext,
  parameters: Parameters,
): Promise<void> {
  const { command, shell } = await commandIn(computer, parameters)
  const code = pyautoguiIn(command)
  if (code !== null) {
    await computer.act(parseScript(code).actions)
    return
  }
  const { until, stdout, stderr } = parameters
  for (const end = Date.now() + LONGEST_POLL_MS; ; ) {
    const done = await ifThere(() => computer.execute(command, { shell }))
    if (done === null) return
    if (typeof stdout === 'string') cache.set(stdout, Buffer.from(done.output))
    if (typeof stderr === 'string') cache.set(stderr, Buffer.from(done.error))
    if (typeof until !== 'object' || until === null) {
      if (!lenient && done.returncode !== 0 && !mayFail(command))
        throw new RlError(`status ${done.returncode}: ${done.error.trim().slice(-300)}`, {
          code: 'desktop.refused',
        })
      return
    }
    if (fits(done, until as Parameters)) return
    if (Date.now() > end) throw wrong(`what 'until' waits for did not come in ${LONGEST_POLL_MS / 1000} s`)
    await sleep(POLL_MS)
  }
}

const NO_PROGRAM = /\bENOENT\b|No such file or directory/

/**
 * Resolves to null if the program is missing. The set-up goes on, as OSWorld's does. Tasks whose program
 * local desktops do not have are left out before.
 */
async function ifThere<Done>(work: () => Promise<Done>): Promise<Done | null> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof RlError && error.code === 'desktop.refused' && NO_PROGRAM.test(error.message))
      return null
    throw error
  }
}

function mayFail(command: Command): boolean {
  const words = typeof command === 'string' ? [command] : command
  const [first, last] = [itemAt(words, 0), itemAt(words, words.length - 1)]
  const started = words.length === 1 ? programsIn(first) : [first, ...programsIn(last)]
  return started.some((path) => IDLE_STATUS.has(path.slice(path.lastIndexOf('/') + 1)))
}

function fits({ output, error, returncode }: Executed, until: Parameters): boolean {
  return (
    Object.keys(until).length === 0 ||
    until.returncode === returncode ||
    (typeof until.stdout === 'string' && output.includes(until.stdout)) ||
    (typeof until.stderr === 'string' && error.includes(until.stderr))
  )
}

async function commandIn(
  computer: Computer,
  { command, shell }: Parameters,
): Promise<{ readonly command: Command; readonly shell: boolean }> {
  const words = Array.isArray(command)
    ? command.map((word) => wordIn('command', word))
    : wordIn('command', command)
  return { command: filledIn(words, await computer.size()), shell: shell === true }
}

/** Replaces OSWorld's names for the screen and the password. */
export function filledIn(command: Command, { width, height }: ScreenSize): Command {
  const filled = (word: string) =>
    word
      .replaceAll('{CLIENT_PASSWORD}', PASSWORD)
      .replaceAll('{SCREEN_WIDTH_HALF}', String(width >> 1))
      .replaceAll('{SCREEN_HEIGHT_HALF}', String(height >> 1))
      .replaceAll('{SCREEN_WIDTH}', String(width))
      .replaceAll('{SCREEN_HEIGHT}', String(height))
  return typeof command === 'string' ? filled(command) : command.map(filled)
}

function windowIn({ window_name: name, strict, by_class: byClass }: Parameters): WindowQuery {
  return { name: wordIn('window_name', name), strict: strict === true, byClass: byClass === true }
}

function wordIn(name: string, value: unknown): string {
  if (typeof value !== 'string' || value.includes('\0')) throw wrong(`${name} is no text`)
  return value
}

function listOf(name: string, value: unknown): readonly Parameters[] {
  if (!Array.isArray(value) || !value.every((one) => typeof one === 'object' && one !== null))
    throw wrong(`${name} is no list`)
  return value
}

function wrong(message: string): RlError {
  return new RlError(message, { code: 'desktop.task' })
}
