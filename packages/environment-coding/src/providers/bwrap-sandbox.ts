/** One bubblewrap sandbox with its runner. The runner forks for each test into new namespaces. */

import { type ChildProcess, spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { dirname } from 'node:path'
import type { Readable, Writable } from 'node:stream'
import { type ControlGroup, RlError, withDescendants } from 'rlanything/kit'
import { conversationResult, interactorLimits } from '../interaction.ts'
import { type Limits, type ProgramRun, wallLimitMs } from '../provider.ts'
import type { RunResult } from '../run-result.ts'
import { type Interpreter, isInside } from './interpreter.ts'
import {
  createReportReader,
  type Execution,
  encodeConversation,
  encodeProgram,
  encodeTest,
  type RunnerReport,
  resultOf,
} from './runner-protocol.ts'
import { type Shown, same } from './toolchain.ts'
import type { UserNamespace } from './user-namespace.ts'

const RUNNER = readFileSync(new URL('../runner/sandbox_runner.py', import.meta.url), 'utf8')
/** Memory for the runner itself, beside the program's. */
export const RUNNER_MB = 64
/** Time for the machine to be slow, beside a test's wall limit. */
const GRACE_MS = 20_000
/** A busy machine may need long, which is no reason to do without its sandbox. */
const START_MS = 120_000
/**
 * Number of programs after which a sandbox is replaced. No program should be able to change it. This bounds
 * the damage if one could.
 */
const PROGRAMS_PER_SANDBOX = 64

export type SandboxOptions = {
  readonly bwrap: string
  readonly arguments: readonly string[]
  readonly users: UserNamespace | null
  readonly start: Buffer
  readonly group: ControlGroup | null
}

/** Work for a sandbox: a text or bytes. `execute` tells how to run what is not Python. */
type Work = Pick<ProgramRun, 'stdins' | 'limits' | 'interactor'> & {
  readonly program: string | Uint8Array
  readonly execution?: Execution
}

export type Sandbox = {
  /** Whether it can take another program. */
  readonly isFit: () => boolean
  readonly run: (
    work: Work,
    report: (test: number, result: RunResult) => void,
    signal?: AbortSignal,
  ) => Promise<void>
  /** Processes in it beside bwrap and the runner. */
  readonly strangers: () => readonly number[]
  readonly end: () => Promise<void>
}

type Task = {
  readonly onReport: (report: RunnerReport) => void
  readonly onEnd: (reason: string) => void
}

/** Opens one runner. Any failure ends it, and the next program gets another. */
export function openSandbox({ bwrap, arguments: words, users, start, group }: SandboxOptions): Sandbox {
  const child = spawn(bwrap, words, {
    ...(users ? { uid: users.owner, gid: users.owner } : {}),
    env: {},
    cwd: '/',
    stdio: ['pipe', 'pipe', 'pipe', ...(users ? [users.fd] : [])],
  }) as ChildProcess & { readonly stdin: Writable; readonly stdout: Readable; readonly stderr: Readable }
  let programs = 0
  let failure: string | null = null
  let errors = ''
  let task: Task | null = null
  let wake: () => void = () => {}
  const ready = new Promise<void>((resolve) => {
    wake = resolve
  })
  const fail = (reason: string) => {
    failure ??= reason
    child.kill('SIGKILL')
    wake()
    const broken = task
    task = null
    broken?.onEnd(failure)
  }
  const closed = new Promise<void>((resolve) => {
    child.on('close', (status, ended) => {
      fail(`ended with ${ended ?? status} before its tests were over. ${errors.trim()}`)
      resolve()
    })
  })
  const read = createReportReader(wake, (report) => {
    if (task) task.onReport(report)
    else fail('a result came for no test')
  })
  child.stdout.on('data', (chunk: Buffer) => {
    try {
      read(chunk)
    } catch (cause) {
      fail(`the result channel is broken: ${cause instanceof Error ? cause.message : cause}`)
    }
  })
  child.stderr.on('data', (chunk: Buffer) => {
    errors = (errors + chunk.toString()).slice(-1000)
  })
  child.stdin.on('error', () => {}) // it may end before it has read everything; `close` tells
  child.on('error', (cause) => fail(`cannot be started: ${cause.message}`))
  child.stdin.write(start)
  const starting = setTimeout(() => fail(`did not start in ${START_MS / 1000} s`), START_MS)
  void ready.then(() => clearTimeout(starting))

  async function run(
    { program, stdins, limits, execution, interactor }: Work,
    report: (test: number, result: RunResult) => void,
    signal?: AbortSignal,
  ): Promise<void> {
    programs++
    const partner = interactor === undefined ? null : interactorLimits(limits)
    await ready
    let oomKills = 0
    let deadline: NodeJS.Timeout | undefined
    const abort = () => fail('was ended with its run')
    try {
      signal?.throwIfAborted()
      if (failure === null)
        try {
          group?.enter(child.pid as number, {
            memoryMB:
              RUNNER_MB + memoryOf(limits) + (partner ? memoryOf(partner) : 0) + givenMB(program, stdins),
            processes: limits.processes + (partner?.processes ?? 0) + 8,
          })
          oomKills = group?.oomKills() ?? 0
        } catch (cause) {
          fail(`its control group cannot be entered: ${cause instanceof Error ? cause.message : cause}`)
        }
      if (failure !== null) throw sandboxError(failure)
      signal?.addEventListener('abort', abort, { once: true })
      await new Promise<void>((resolve, reject) => {
        let next = 0
        /** First half of a conversation while the other half is still to come. */
        let first: RunResult | null = null
        const wait = () => {
          clearTimeout(deadline)
          const wallMs = wallLimitMs(partner ?? limits)
          deadline = setTimeout(() => fail('a test did not end'), wallMs + GRACE_MS)
        }
        task = {
          onEnd: (reason) => reject(sandboxError(reason)),
          onReport(seen) {
            if (seen.index !== next) return fail('a result came for another test')
            // No text of a program has been looked at yet.
            if (seen.started === '-' && seen.ended === '-' && seen.exitCode >= 0)
              return fail(`a test could not be started: ${seen.stderrTail.toString().trim()}`)
            const kills = hasFailed(seen) ? (group?.oomKills() ?? 0) : oomKills
            const result = resultOf(seen, first && partner ? partner : limits, kills > oomKills)
            oomKills = kills
            if (partner && first === null) {
              first = result
              return
            }
            next++
            report(seen.index, first ? conversationResult(first, result, limits) : result)
            first = null
            if (next < stdins.length) return wait()
            task = null
            resolve()
          },
        }
        wait()
        child.stdin.write(encodeProgram(program, limits, execution))
        if (interactor !== undefined && partner)
          child.stdin.write(encodeProgram(interactor, partner, undefined, 'partner'))
        const encode = partner ? encodeConversation : encodeTest
        for (const [test, stdin] of stdins.entries()) child.stdin.write(encode(test, stdin))
      })
    } catch (error) {
      if (signal?.aborted) throw signal.reason
      throw error
    } finally {
      clearTimeout(deadline)
      signal?.removeEventListener('abort', abort)
    }
  }

  return {
    isFit: () => failure === null && programs < PROGRAMS_PER_SANDBOX,
    run,
    strangers: () => withDescendants(child.pid as number).slice(OWN_PROCESSES),
    end() {
      fail('was ended')
      return closed
    },
  }
}
/** Memory of the files that a test is given. */
const givenMB = (program: string | Uint8Array, stdins: readonly string[]) =>
  Math.ceil((program.length + Math.max(0, ...stdins.map((stdin) => Buffer.byteLength(stdin)))) / 2 ** 20)
/** The memory, as much stack, and the files. */
const memoryOf = ({ memoryMB, fileMB }: Limits) => 2 * memoryMB + fileMB

/** bwrap and the runner. */
const OWN_PROCESSES = 2

const hasFailed = ({ exitCode, ended }: RunnerReport) => exitCode !== 0 || ended !== '-'

const sandboxError = (message: string) =>
  new RlError(`bwrap: ${message}`, { code: 'coding.sandbox', hint: 'rl doctor tests the sandbox' })

/**
 * Returns bwrap's arguments: no network, no other process, only the interpreter's files of the system, an
 * empty environment, and no capability for programs.
 */
export function sandboxArguments(
  { path, files, libraryFolders }: Interpreter,
  {
    packages = [],
    users = false,
    shown = [],
  }: {
    readonly packages?: readonly string[]
    readonly users?: boolean
    readonly shown?: readonly Shown[]
  } = {},
): string[] {
  const wanted = [...[...files, ...packages].map(same), ...shown]
  const seen = wanted.filter(
    ([, as], i) => !wanted.some(([, other], j) => (other === as ? j < i : isInside(as, other))),
  )
  // Not zero: a shared mapping of it is memory that no process shows as its own.
  const devices = ['null', 'full', 'random', 'urandom'].map((name) => `/dev/${name}`)
  return [
    ...(users ? ['--userns', '3'] : ['--unshare-user', '--uid', '1', '--gid', '1']),
    ...['--unshare-ipc', '--unshare-pid', '--unshare-net', '--unshare-uts', '--unshare-cgroup-try'],
    ...['--hostname', 'sandbox', '--die-with-parent', '--new-session', '--as-pid-1'],
    // Capabilities of the runner, which gives each test its own namespaces, files and user.
    ...['SYS_ADMIN', 'SYS_PTRACE', 'SYS_RESOURCE', 'SETUID', 'SETGID', 'KILL'].flatMap((name) => [
      '--cap-add',
      `CAP_${name}`,
    ]),
    ...foldersAbove([...seen.map(([, as]) => as), ...devices]).flatMap((folder) => [
      '--perms',
      '0755',
      '--dir',
      folder,
    ]),
    ...seen.flatMap(([path, as]) => ['--ro-bind', path, as]),
    ...devices.flatMap((file) => ['--dev-bind', file, file]),
    ...[
      '--proc',
      '/proc',
      '--dir',
      '/box',
      '--symlink',
      'box/tmp',
      '/tmp',
      '--symlink',
      '../box/tmp',
      '/dev/shm',
    ],
    ...['--symlink', '../box/stdin', '/dev/stdin', '--remount-ro', '/', '--chdir', '/'],
    ...['--setenv', 'PATH', '/usr/bin:/bin', '--setenv', 'HOME', '/tmp', '--setenv', 'LANG', 'C.UTF-8'],
    ...['--setenv', 'PYTHONHASHSEED', '0', '--setenv', 'LD_LIBRARY_PATH', libraryFolders.join(':')],
    ...['--setenv', 'ONLINE_JUDGE', '1'],
    ...['--', path, '-s', '-S', '-B', '-c', RUNNER],
  ]
}

/** Folders on the way to the files, outermost first: bwrap would make them for the runner's user alone. */
function foldersAbove(files: readonly string[]): string[] {
  const found = new Set<string>()
  for (const file of files)
    for (let folder = dirname(file); folder !== '/'; folder = dirname(folder)) found.add(folder)
  return [...found].sort()
}
