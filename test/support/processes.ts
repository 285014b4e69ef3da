/** Processes as a user starts them; they end with the test at the latest. */
import { type ChildProcess, spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'

export type Started = {
  readonly process: ChildProcess
  /** All that it has printed so far. */
  readonly output: () => string
  /** Of its exit, once all that it printed is there; null where a signal ended it. */
  readonly status: Promise<number | null>
}

/** What it left running may hold its output open: that is waited for no longer than this. */
const OUTPUT_MS = 5_000

const children = new Set<ChildProcess>()
process.once('exit', () => {
  for (const child of children) child.kill('SIGKILL')
})

/** A script of the project with its arguments, below the environment variables of this process. */
export const startProcess = (words: readonly string[], env?: Readonly<Record<string, string>>): Started =>
  startProgram(process.execPath, [...words], env)

/** Any program with its arguments, below the environment variables of this process. */
export function startProgram(
  program: string,
  words: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Started {
  const child = spawn(program, words, {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...env },
  })
  children.add(child)
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk))
  const status = new Promise<number | null>((resolve) =>
    child.once('exit', (code) => {
      children.delete(child)
      const late = setTimeout(() => resolve(code), OUTPUT_MS)
      child.once('close', () => {
        clearTimeout(late)
        resolve(code)
      })
    }),
  )
  return { process: child, output: () => output, status }
}

/** Every key of this file stands at its default, and its judge is a model. */
export const ALL_PARTS = ['--config', 'config/co-trained.yaml'] as const

/** `npm start -- --role head` for a run below `root`, with all parts of the loop; without settings an existing run goes on. */
export function startHead(
  root: string,
  run: string,
  settings: readonly string[] = [],
  env: Readonly<Record<string, string>> = {},
  more: readonly string[] = [],
): Started {
  const config = settings.length === 0 || more.includes('--config') ? [] : ALL_PARTS
  const words = [...config, ...settings.flatMap((setting) => ['--set', setting]), ...more]
  return startProcess(['src/main.ts', '--role', 'head', '--run', run, ...words], { ...env, RL_RUNS: root })
}

/** Whether a process runs still: one that ended and that nobody has asked for yet does not. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EPERM') return false
  }
  return !/^State:\s+Z/m.test(statusOf(pid))
}

/** Empty where there is no /proc, or the process is no more. */
function statusOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/status`, 'utf8')
  } catch {
    return ''
  }
}
