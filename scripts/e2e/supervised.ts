/** A process on a host that is started again whenever it ends, as systemd or Kubernetes would. */
import { pause } from '../../src/clock.ts'
import type { Host, Started } from './network.ts'

export type Supervised = {
  readonly name: string
  /** Number of the process on this machine, or null if it does not run. */
  readonly pid: () => number | null
  /** SIGKILL. It is started again after a second. */
  readonly kill: () => void
  /** SIGSTOP, and SIGCONT. */
  readonly stop: () => void
  readonly goOn: () => void
  /** SIGKILL, and nobody starts it again. */
  readonly end: () => void
  /** Nobody waits for its end, and nobody starts it again. */
  readonly giveUp: () => void
  readonly restarts: () => number
  /** How it ended by itself, with its last lines. */
  readonly ends: readonly string[]
  /** Resolves to the status with which it ended for good. Never resolves for one that was given up. */
  readonly ended: Promise<number | null>
  readonly output: () => string
}

export type SupervisedOptions = {
  readonly name: string
  readonly host: Host
  /** Words of the command at each start. */
  readonly words: () => readonly string[]
  readonly env?: NodeJS.ProcessEnv
  /** Whether an end is for good. */
  readonly isOver: () => boolean
}

const AGAIN_MS = 1_000
const KEPT = 2_000

export function supervise({ name, host, words, env, isOver }: SupervisedOptions): Supervised {
  const ends: string[] = []
  let before = ''
  let restarts = 0
  let isKept = true
  let isMeant = false
  let resolveEnded: (status: number | null) => void = () => {}
  const ended = new Promise<number | null>((resolve) => {
    resolveEnded = resolve
  })
  let current = start()

  function start(): Started {
    const started = host.start(words(), env)
    void started.status.then((status) => {
      if (isKept) void followUp(started, status)
    })
    return started
  }

  async function followUp({ output }: Started, status: number | null): Promise<void> {
    if (isOver()) return resolveEnded(status)
    if (!isMeant) ends.push(`status ${status}: ${output().trim().split('\n').slice(-4).join(' | ')}`)
    isMeant = false
    before = (before + output()).slice(-KEPT)
    await pause(AGAIN_MS)
    if (!isKept) return
    restarts++
    current = start()
  }

  const signal = (word: NodeJS.Signals) => {
    const pid = current.pid()
    if (pid !== null) process.kill(pid, word)
  }
  return {
    name,
    pid: () => current.pid(),
    kill() {
      isMeant = true
      signal('SIGKILL')
    },
    stop: () => signal('SIGSTOP'),
    goOn: () => signal('SIGCONT'),
    end() {
      isKept = false
      signal('SIGKILL')
    },
    giveUp() {
      isKept = false
    },
    restarts: () => restarts,
    ends,
    ended,
    output: () => before + current.output(),
  }
}
