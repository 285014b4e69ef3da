/** The processes that a head starts: one a role and further workers. A process that ends is started again; all end with the head. */
import { type ChildProcess, spawn } from 'node:child_process'
import { createWriteStream, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { environmentOf } from '../../broker/connection.ts'
import { RlError } from '../../errors.ts'
import type { BusAddress } from '../../events/bus.ts'
import type { Role } from '../../events/envelope.ts'
import { CACHE, nodeWords } from '../../package.ts'
import { askToEnd } from '../../platform/processes.ts'

export type ChildSpec = { readonly role: Role | 'executor'; readonly worker: boolean }

export type Children = {
  /** Fails when one role ends again and again as soon as it is started. */
  readonly done: Promise<never>
  readonly stop: () => Promise<void>
}

export type ChildrenOptions = {
  readonly run: string
  /** Of the run; what the processes print goes to `logs` in it. */
  readonly folder: string
  /** Without credentials where each user has its own in the run's folder. */
  readonly address: BusAddress
  readonly specs: readonly ChildSpec[]
  readonly onExit: (exit: { readonly spec: ChildSpec; readonly pid: number; readonly reason: string }) => void
  /** Hears what a process prints to standard output. */
  readonly onPrinted: (name: string, text: string) => void
  /** For how long a process has said nothing (ms), or null where that is not known. */
  readonly silentMs: (pid: number) => number | null
  /** One that says nothing for so long hangs: it is ended, and another started. */
  readonly mostSilentMs: number
}

/** A process that lived for less counts as one that could not start. */
const START_MS = 10_000
const START_FAILURES = 4
/** How often a role may end by a fault of its own within an hour: each time it pays again for what it had not finished. */
const RESTARTS_AN_HOUR = 20
const HOUR_MS = 3_600_000
const STOP_MS = 8_000
/** Modules as V8 compiled them: a process that is started again has a third less to do. */
const COMPILED = join(CACHE, 'compiled')
const MAIN = nodeWords(new URL('../../main.ts', import.meta.url))

/** Set for a process whose standard input is a pipe from the head: when that closes, the head is gone. */
export const PARENT_PIPE = 'RL_PARENT_PIPE'

export function startChildren(options: ChildrenOptions): Children {
  const { run, folder, address, specs, onExit, onPrinted, silentMs, mostSilentMs } = options
  const logs = join(folder, 'logs')
  mkdirSync(logs, { recursive: true, mode: 0o700 })
  const alive = new Set<ChildProcess>()
  const hung = new Set<ChildProcess>()
  let stopping = false
  let fail: (error: RlError) => void = () => {}
  const done = new Promise<never>((_, reject) => {
    fail = reject
  })
  done.catch(() => {})

  function start(spec: ChildSpec, failures: number, faults: number[] = []): void {
    if (stopping) return
    const startedMs = performance.now()
    const name = spec.worker ? `${spec.role}-worker` : spec.role
    const child = spawn(
      process.execPath,
      [...MAIN, ...['--role', spec.role, '--run', run], ...(spec.worker ? ['--worker'] : [])],
      {
        stdio: ['pipe', 'pipe', 'pipe'],
        env: { NODE_COMPILE_CACHE: COMPILED, ...process.env, ...environmentOf(address), [PARENT_PIPE]: '1' },
      },
    )
    alive.add(child)
    const log = createWriteStream(join(logs, `${name}.log`), { flags: 'a', mode: 0o600 })
    let lastLine = ''
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk: Buffer) => {
        log.write(chunk)
        lastLine = chunk.toString().trim().split('\n').at(-1) || lastLine
      })
    child.stdout.on('data', (chunk: Buffer) => onPrinted(name, chunk.toString()))
    child.once('exit', (status, signal) => {
      log.end()
      alive.delete(child)
      if (stopping) return
      const isHung = hung.delete(child)
      if (isHung) lastLine = `said nothing for ${Math.round(mostSilentMs / 1000)} s and was ended`
      const reason = isHung
        ? lastLine
        : signal
          ? `ended by ${signal}`
          : `ended with status ${status}: ${lastLine}`
      onExit({ spec, pid: child.pid ?? 0, reason })
      // A signal comes from outside; all else is the role's own fault.
      if (signal === null || isHung) faults.push(performance.now())
      while (faults.length > 0 && performance.now() - faults[0] > HOUR_MS) faults.shift()
      if (faults.length > RESTARTS_AN_HOUR)
        return fail(
          new RlError(`${name} ended ${faults.length} times within an hour: ${lastLine}`, {
            code: 'head.restarts-spent',
            hint: `see ${join(logs, `${name}.log`)}`,
          }),
        )
      const early = performance.now() - startedMs < START_MS && signal !== 'SIGKILL'
      if (early && failures + 1 >= START_FAILURES)
        fail(
          new RlError(`${name} does not start: ${lastLine}`, {
            code: 'head.role-fails',
            hint: `see ${join(logs, `${name}.log`)}`,
          }),
        )
      else setTimeout(() => start(spec, early ? failures + 1 : 0, faults), early ? 250 * 2 ** failures : 50)
    })
  }

  for (const spec of specs) start(spec, 0)
  const look = setInterval(() => {
    for (const child of alive)
      if ((silentMs(child.pid ?? 0) ?? 0) > mostSilentMs && child.kill('SIGKILL')) hung.add(child)
  }, mostSilentMs / 8)

  return {
    done,
    async stop() {
      stopping = true
      clearInterval(look)
      const ends = [...alive].map((child) => new Promise((resolve) => child.once('exit', resolve)))
      for (const child of alive) askToEnd(child)
      const force = setTimeout(() => {
        for (const child of alive) child.kill('SIGKILL')
      }, STOP_MS)
      await Promise.all(ends)
      clearTimeout(force)
    },
  }
}
