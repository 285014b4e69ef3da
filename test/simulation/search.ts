/** Many seeds over a few processes, in order. */
import { type ChildProcess, fork } from 'node:child_process'
import { join } from 'node:path'
import type { Answer } from './worker.ts'
import type { Outcome } from './world.ts'

export type SearchOptions = {
  readonly from: number
  readonly to: number
  readonly processes: number
  /** Folder with the project, or a copy of it. */
  readonly root: string
  readonly onOutcome: (outcome: Outcome) => void
  /** Ends the search after what is under way. */
  readonly signal: AbortSignal
}

/** Worlds make much garbage that dies young. */
const NODE_FLAGS = ['--max-semi-space-size=32']
/** A world that takes longer than this has stopped to turn. */
const STUCK_MS = 300_000

export async function search(options: SearchOptions): Promise<void> {
  const { from, to, processes } = options
  let next = from
  const take = () => (next <= to && !options.signal.aborted ? next++ : null)
  const many = Math.max(1, Math.min(processes, to - from + 1))
  await Promise.all(Array.from({ length: many }, () => work(take, options)))
}

async function work(take: () => number | null, { root, onOutcome, signal }: SearchOptions): Promise<void> {
  let child: ChildProcess | null = null
  for (let seed = take(); seed !== null; seed = take()) {
    child ??= fork(join(root, 'test', 'simulation', 'worker.ts'), { cwd: root, execArgv: NODE_FLAGS })
    const outcome = await ask(child, seed, signal)
    if (outcome === null) break
    onOutcome(outcome)
    if (!child.connected || child.killed) child = null
  }
  child?.kill('SIGKILL')
}

/** Null where the search was ended meanwhile. */
function ask(child: ChildProcess, seed: number, signal: AbortSignal): Promise<Outcome | null> {
  return new Promise((resolve) => {
    const settle = (outcome: Outcome | null) => {
      clearTimeout(timer)
      child.off('message', hear)
      child.off('exit', exit)
      signal.removeEventListener('abort', end)
      resolve(outcome)
    }
    const broken = (violation: string): Outcome => ({
      seed,
      violations: [violation],
      struck: [],
      digest: '',
      events: 0,
      steps: 0,
      virtualMs: 0,
    })
    const hear = (answer: unknown) => settle((answer as Answer).outcome)
    const exit = (status: number | null) => settle(broken(`the process ended with status ${status}`))
    const end = () => settle(null)
    const timer = setTimeout(() => {
      child.kill('SIGKILL')
      settle(broken(`the world did not end within ${STUCK_MS / 1000} s`))
    }, STUCK_MS)
    child.on('message', hear)
    child.on('exit', exit)
    signal.addEventListener('abort', end)
    child.send({ seed })
  })
}
