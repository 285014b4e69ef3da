/**
 * A task of a desktop: a task file in OSWorld's form and the texts that may be typed. Our own tasks also know
 * a way to do them.
 */
import type { Rng } from 'rlanything/environments'
import type { SetupStep, Source, TaskFile } from '../osworld/task-file.ts'

export type DesktopTask = {
  readonly file: TaskFile
  /** Programs that it needs. */
  readonly programs: readonly string[]
  /** Texts, right and wrong, that a policy may type if it picks from a list. */
  readonly texts: readonly string[]
  /**
   * Commands that do the task. The last is `done`, or `fail` if the task cannot be done. Empty if nobody has
   * written them.
   */
  readonly oracle: readonly string[]
  /** Commands after which it must not count as done. */
  readonly wrong: readonly string[]
}

/** A kind of task. It makes a task with numbers and words from a random source. */
export type TaskKind = {
  readonly kind: string
  readonly programs: readonly string[]
  readonly make: (random: Rng) => Draft
}

export type Draft = {
  readonly goal: string
  readonly config: readonly SetupStep[]
  readonly check: {
    readonly metric: string
    readonly result?: Source
    readonly rules?: unknown
    readonly options?: Readonly<Record<string, unknown>>
    readonly postconfig?: readonly SetupStep[]
  }
  readonly texts?: readonly string[]
  readonly oracle: readonly string[]
  readonly wrong?: readonly string[]
}

export const DESKTOP = '/home/user/Desktop'

/** Returns a task of a kind, by its number. The same number gives the same task. */
export function taskOf({ programs, make }: TaskKind, id: string, random: Rng): DesktopTask {
  const { goal, config, check, texts = [], oracle, wrong = ['press escape', 'done'] } = make(random)
  const { metric, result, rules, options, postconfig = [] } = check
  return {
    file: {
      id,
      instruction: goal,
      config: [...config],
      related_apps: [...programs],
      evaluator: {
        postconfig: [...postconfig],
        func: metric,
        conj: 'and',
        result,
        expected: rules === undefined ? undefined : { type: 'rule', rules },
        options: options && { ...options },
      },
    },
    programs,
    texts,
    oracle,
    wrong,
  }
}

export const file = (name: string, text: string): SetupStep => ({
  type: 'write_file',
  parameters: { path: `${DESKTOP}/${name}`, text },
})

export const bytes = (name: string, content: Uint8Array): SetupStep => ({
  type: 'write_file',
  parameters: { path: `${DESKTOP}/${name}`, base64: Buffer.from(content).toString('base64') },
})

export const open = (name: string): SetupStep => ({
  type: 'open',
  parameters: { path: `${DESKTOP}/${name}` },
})
/** Starts a program and waits for its window, by a part of its class or of its title. */
export const started = (window: string, command: string, { byTitle = false } = {}): readonly SetupStep[] => [
  { type: 'launch', parameters: { command: `cd ${DESKTOP} && exec ${command}`, shell: true } },
  { type: 'wait_for_window', parameters: { window_name: window, by_class: !byTitle } },
]

/** Gives the output of a shell command, run in the folder of the desktop. */
export const printed = (command: string): Source => ({
  type: 'vm_command_line',
  command: `cd ${DESKTOP} && ${command}`,
  shell: true,
})
