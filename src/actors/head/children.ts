/**
 * Processes that a head starts: one for each role, and further workers. A process that ends is started again. All end
 * with the head.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { createWriteStream, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { environmentOf } from '../../broker/connection.ts'
import { explain } from '../../errors.ts'
import type { BusAddress } from '../../events/bus.ts'
import type { Role } from '../../events/envelope.ts'
import { compileCache, nodeWords } from '../../package.ts'
import { askToEnd } from '../../platform/processes.ts'
import { openRestartBudget, type ProcessEnd } from './restart-budget.ts'

export type ChildSpec = { readonly role: Role | 'executor'; readonly worker: boolean }

export type Children = {
  /** Fails when one role ends again and again as soon as it is started. */
  readonly done: Promise<never>
  readonly stop: () => Promise<void>
}

export type ChildrenOptions = {
  readonly run: string
  /** Folder of the run. The processes' output goes to its `logs`. */
  readonly folder: string
  /** Whether roles of the run may lie on other disks. */
  readonly apart: boolean
  /** Has no credentials if each user has its own in the run's folder. */
  readonly address: BusAddress
  readonly specs: readonly ChildSpec[]
  /** Hears of each ended process, even if the head ended it. */
  readonly onGone: (pid: number) => void
  /** Hears of a process that ended by itself: another is started. */
  readonly onExit: (exit: { readonly spec: ChildSpec; readonly pid: number; readonly reason: string }) => void
  /** Hears the standard output of a process. */
  readonly onPrinted: (name: string, text: string) => void
  /** Returns how long a process has been silent (ms), or null if that is unknown. */
  readonly silentMs: (spec: ChildSpec, pid: number) => number | null
  /** A process hangs if it is silent for this time: it is ended, and another is started. */
  readonly mostSilentMs: number
  /** Time that a process may take until it is heard of for the first time. */
  readonly mostStartMs: number
}

const STOP_MS = 8_000
const MAIN = nodeWords(new URL('../../main.ts', import.meta.url))

/** Set for a process whose standard input is a pipe from the head: when that closes, the head is gone. */
export const PARENT_PIPE = 'RL_PARENT_PIPE'

/** Set to 1 for processes of a head that leaves roles to others. They may lie on other disks. */
export const ROLES_APART = 'RL_ROLES_APART'

function hasStreams({ stdin, stdout, stderr }: ChildProcess): boolean {
  return Boolean(stdin && stdout && stderr)
}

/** The error of a process that was not started, with what helps if this one has too many files open. */
function startError(error: unknown): string {
  const { code } = error as NodeJS.ErrnoException
  return `${explain(error)}${code === 'EMFILE' ? ': raise the limit of open files (ulimit -n)' : ''}`
}

export function startChildren(options: ChildrenOptions): Children {
  const {
    run,
    folder,
    apart,
    address,
    specs,
    onGone,
    onExit,
    onPrinted,
    silentMs,
    mostSilentMs,
    mostStartMs,
  } = options
  const logs = join(folder, 'logs')
  mkdirSync(logs, { recursive: true, mode: 0o700 })
  /** Time of each process's last sign of life (its start is one), and whether it was ever heard of. */
  const alive = new Map<ChildProcess, { readonly spec: ChildSpec; signMs: number; heard: boolean }>()
  /** Processes that were ended for their silence, each with the reason to report. */
  const hung = new WeakMap<ChildProcess, string>()
  let stopping = false
  let fail: (error: unknown) => void = () => {}
  const done = new Promise<never>((_, reject) => {
    fail = reject
  })
  done.catch(() => {})

  /** Starts a process of the role, and another whenever it ends. */
  function keep(spec: ChildSpec): void {
    const name = spec.worker ? `${spec.role}-worker` : spec.role
    const path = join(logs, `${name}.log`)
    const waitAfter = openRestartBudget(name, path)

    function start(): void {
      if (stopping) return
      const startedMs = performance.now()
      let lastLine = ''

      function ended(pid: number, reason: string, how: Pick<ProcessEnd, 'isFault' | 'isKilled'>): void {
        onGone(pid)
        if (stopping) return
        onExit({ spec, pid, reason })
        try {
          setTimeout(start, waitAfter({ ...how, livedMs: performance.now() - startedMs, lastLine }))
        } catch (error) {
          fail(error)
        }
      }

      /** There are too many processes, or too little memory. */
      function notStarted(error: unknown): void {
        lastLine = startError(error)
        ended(0, `cannot be started: ${lastLine}`, { isFault: true, isKilled: false })
      }

      let child: ReturnType<typeof spawnRole>
      try {
        child = spawnRole(spec)
      } catch (error) {
        notStarted(error)
        return
      }
      // Without a file left Node gives a child that has no streams, and its error comes a little later.
      if (!hasStreams(child)) {
        child.once('error', notStarted)
        return
      }
      alive.set(child, { spec, signMs: startedMs, heard: false })
      const log = createWriteStream(path, { flags: 'a', mode: 0o600 })
      // On a full disk the processes' output is lost, but the run is not.
      log.on('error', () => {})
      for (const stream of [child.stdout, child.stderr])
        stream.on('data', (chunk: Buffer) => {
          if (log.writable) log.write(chunk)
          lastLine = chunk.toString().trim().split('\n').at(-1) || lastLine
        })
      child.stdout.on('data', (chunk: Buffer) => onPrinted(name, chunk.toString()))
      child.once('exit', (status, signal) => {
        log.end()
        alive.delete(child)
        const silent = hung.get(child)
        // What its own loop could not say any more.
        const silence = silent && lastLine.startsWith('held for ') ? `${silent}; ${lastLine}` : silent
        if (silence) lastLine = silence
        const reason = signal ? `ended by ${signal}` : `ended with status ${status}: ${lastLine}`
        const isFault = signal === null || silence !== undefined
        ended(child.pid ?? 0, silence ?? reason, { isFault, isKilled: signal === 'SIGKILL' })
      })
      child.once('error', (error) => {
        if (child.pid !== undefined) return
        log.end()
        alive.delete(child)
        notStarted(error)
      })
    }

    start()
  }

  function spawnRole(spec: ChildSpec) {
    return spawn(
      process.execPath,
      [...MAIN, ...['--role', spec.role, '--run', run], ...(spec.worker ? ['--worker'] : [])],
      {
        stdio: ['pipe', 'pipe', 'pipe'],
        env: {
          ...compileCache(),
          ...process.env,
          ...environmentOf(address),
          [PARENT_PIPE]: '1',
          [ROLES_APART]: apart ? '1' : '0',
        },
      },
    )
  }

  /**
   * Ends silent processes. A process is not heard of at all if it hangs before its first heartbeat, or after it said
   * that it leaves.
   */
  function endSilent(): void {
    const now = performance.now()
    for (const [child, life] of alive) {
      const silent = silentMs(life.spec, child.pid ?? 0)
      if (silent !== null) {
        life.signMs = now - silent
        life.heard = true
      }
      const mostMs = life.heard ? mostSilentMs : mostStartMs
      if (now - life.signMs <= mostMs || !child.kill('SIGKILL')) continue
      hung.set(child, `said nothing for ${Math.round(mostMs / 1000)} s and was ended`)
    }
  }

  for (const spec of specs) keep(spec)
  const look = setInterval(endSilent, Math.min(mostSilentMs, mostStartMs) / 8)

  return {
    done,
    async stop() {
      stopping = true
      clearInterval(look)
      const ends = [...alive.keys()].map((child) => new Promise((resolve) => child.once('exit', resolve)))
      for (const child of alive.keys()) askToEnd(child)
      const force = setTimeout(() => {
        for (const child of alive.keys()) child.kill('SIGKILL')
      }, STOP_MS)
      await Promise.all(ends)
      clearTimeout(force)
    },
  }
}
