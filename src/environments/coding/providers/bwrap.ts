/** Programs in a bubblewrap sandbox: one for each program, and in it a fork for each test. */
import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { lstatSync, readFileSync, readlinkSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import type { Readable, Writable } from 'node:stream'
import { RlError } from '../../../errors.ts'
import { type Limits, type ProgramRun, type Provider, type RunResult, wallLimitMs } from '../executor.ts'
import { type ControlGroup, createControlGroup } from './cgroup.ts'
import { findProgram } from './find-program.ts'
import {
  createReportReader,
  encodeProgram,
  encodeTest,
  type RunnerReport,
  resultOf,
} from './runner-protocol.ts'

const RUNNER = readFileSync(new URL('../runner/sandbox_runner.py', import.meta.url), 'utf8')
/** Changes with every change of the runner that can change a result. */
const SEMANTICS = 'runner-2'
/** Where this process is root, sandboxes belong to these otherwise unused users, one for each slot. */
const FIRST_UID = 61_000
/** Memory for the runner itself, beside the program's. */
const RUNNER_MB = 64
/** Time for the machine to be slow, beside a test's wall limit. */
const GRACE_MS = 20_000

export type BwrapOptions = {
  readonly concurrency?: number
  /** The interpreter; it must lie under /usr, which is all of the system that a sandbox sees. */
  readonly python?: string
}

/** Finds bwrap and the interpreter; throws where one is missing. Whether they work is `selfTest`'s to find out. */
export function createBwrapProvider({
  concurrency = availableParallelism(),
  python,
}: BwrapOptions = {}): Provider {
  const bwrap = findProgram('bwrap')
  if (!bwrap)
    throw new RlError('bwrap is not installed', {
      code: 'coding.no-bwrap',
      hint: 'install the package bubblewrap, or use --provider pyodide',
    })
  const interpreter = python ?? findProgram('python3', ['/usr/bin', '/usr/local/bin'])
  if (!interpreter?.startsWith('/usr/'))
    throw new RlError(`the Python interpreter is ${interpreter ?? 'missing'}, expected one under /usr`, {
      code: 'coding.no-python',
      hint: 'install python3 from the system packages, or use --provider pyodide',
    })
  const isRoot = process.getuid?.() === 0
  const slots = Array.from({ length: concurrency }, (_, slot) => slot)
  const groups = new Map<number, ControlGroup | null>()
  const live = new Set<ChildProcessByStdio<Writable, Readable, Readable>>()

  const groupOf = (slot: number) => {
    const known = groups.get(slot)
    if (known !== undefined) return known
    const group = createControlGroup(slot)
    groups.set(slot, group)
    return group
  }
  const cgroups = groupOf(0) !== null

  async function run(
    job: ProgramRun,
    report: (test: number, result: RunResult) => void,
    signal?: AbortSignal,
  ): Promise<void> {
    const slot = slots.pop()
    if (slot === undefined) throw new Error(`more than ${concurrency} programs at once`)
    try {
      let next = 0
      while (next < job.stdins.length) {
        const first = next
        const { compiles, reported } = await runSandbox(slot, job, first, report, signal)
        next += reported
        if (!compiles) {
          // The text is the same for every test: the first one's result holds for all.
          break
        }
      }
    } finally {
      slots.push(slot)
    }
  }

  /** Runs tests from `first` on until they end or the runner asks for a new sandbox. */
  function runSandbox(
    slot: number,
    { program, stdins, limits }: ProgramRun,
    first: number,
    report: (test: number, result: RunResult) => void,
    signal?: AbortSignal,
  ): Promise<{ compiles: boolean; reported: number }> {
    const group = groupOf(slot)
    const owner = isRoot ? { uid: FIRST_UID + slot, gid: FIRST_UID + slot } : {}
    const child = spawn(bwrap as string, sandboxArguments(interpreter as string, limits), {
      ...owner,
      env: {},
      cwd: '/',
      stdio: ['pipe', 'pipe', 'pipe'],
    })
    live.add(child)
    return new Promise((resolve, reject) => {
      let reported = 0
      let compiles = true
      let last: RunnerReport | null = null
      let errors = ''
      let oomKills = group?.oomKills() ?? 0
      const kill = () => child.kill('SIGKILL')
      let deadline = setTimeout(kill, GRACE_MS)
      const fail = (message: string, cause?: unknown) => {
        reject(
          new RlError(`bwrap: ${message}`, {
            code: 'coding.sandbox',
            hint: 'rl doctor tests the sandbox',
            cause,
          }),
        )
        kill()
      }
      const onReady = () => {
        try {
          group?.enter(child.pid as number, {
            memoryMB: limits.memoryMB + RUNNER_MB,
            processes: limits.processes + 8,
          })
        } catch (cause) {
          fail('its control group cannot be entered', cause)
          return
        }
        child.stdin.write(encodeProgram(program, limits))
        for (let test = first; test < stdins.length; test++) child.stdin.write(encodeTest(test, stdins[test]))
        child.stdin.end()
      }
      const onReport = (next: RunnerReport) => {
        if (next.index !== first + reported || !compiles) return fail('a result came for no test')
        last = next
        const kills = group?.oomKills() ?? 0
        const result = resultOf(next, limits, kills > oomKills)
        oomKills = kills
        report(next.index, result)
        reported++
        if (result.verdict === 'compile_error') {
          compiles = false
          for (let test = first + reported; test < stdins.length; test++) report(test, result)
          kill()
        }
        clearTimeout(deadline)
        deadline = setTimeout(kill, wallLimitMs(limits) + GRACE_MS)
      }
      const read = createReportReader(onReady, onReport)
      child.stdout.on('data', (chunk: Buffer) => {
        try {
          read(chunk)
        } catch (cause) {
          fail('the result channel is broken', cause)
        }
      })
      child.stderr.on('data', (chunk: Buffer) => {
        errors = (errors + chunk.toString()).slice(-1000)
      })
      child.stdin.on('error', () => {}) // the runner may end before it has read everything; `close` tells
      child.on('error', (cause) => fail('cannot be started', cause))
      signal?.addEventListener('abort', kill, { once: true })
      child.on('close', (status, ended) => {
        clearTimeout(deadline)
        signal?.removeEventListener('abort', kill)
        live.delete(child)
        if (signal?.aborted) reject(signal.reason)
        else if (!compiles || reported === stdins.length - first || last?.renew)
          resolve({ compiles, reported })
        else fail(`ended with ${ended ?? status} before its tests were over. ${errors.trim()}`)
      })
    })
  }

  return {
    name: 'bwrap',
    detail: `${interpreter}, ${cgroups ? 'control groups' : 'no control groups: limits by the runner'}, ${isRoot ? `user ${FIRST_UID}` : 'own user'}`,
    semantics: `${SEMANTICS} ${interpreter}`,
    concurrency,
    run,
    async close() {
      await Promise.all(
        [...live].map(
          (child) =>
            new Promise((resolve) => {
              child.once('close', resolve)
              child.kill('SIGKILL')
            }),
        ),
      )
      await Promise.all([...groups.values()].map((group) => group?.remove()))
      groups.clear()
    },
  }
}

/** No network, no other process, a read-only system, an empty environment, and two small scratch folders. */
export function sandboxArguments(python: string, { fileMB }: Pick<Limits, 'fileMB'>): string[] {
  const scratchBytes = String(fileMB * 2 ** 20)
  return [
    ...['--unshare-all', '--unshare-user', '--disable-userns', '--uid', '1000', '--gid', '1000'],
    ...['--hostname', 'sandbox', '--die-with-parent', '--new-session', '--as-pid-1'],
    ...['--ro-bind', '/usr', '/usr', ...systemFolders()],
    ...['--proc', '/proc', '--dev', '/dev'],
    ...['--size', scratchBytes, '--tmpfs', '/tmp', '--size', scratchBytes, '--tmpfs', '/dev/shm'],
    ...['--remount-ro', '/dev', '--remount-ro', '/', '--chdir', '/tmp'],
    ...['--setenv', 'PATH', '/usr/bin:/bin', '--setenv', 'HOME', '/tmp', '--setenv', 'LANG', 'C.UTF-8'],
    ...['--setenv', 'PYTHONHASHSEED', '0'],
    ...['--', python, '-s', '-S', '-B', '-c', RUNNER],
  ]
}

/** /bin and /lib as the system has them: links into /usr, or folders of their own. */
function systemFolders(): string[] {
  return ['/bin', '/lib', '/lib64'].flatMap((folder) => {
    const found = lstatSync(folder, { throwIfNoEntry: false })
    if (!found) return []
    return found.isSymbolicLink()
      ? ['--symlink', readlinkSync(folder), folder]
      : ['--ro-bind', folder, folder]
  })
}
