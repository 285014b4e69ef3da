/** Programs in bubblewrap sandboxes: one a slot, in it a runner, and for each test a fork of it in namespaces of its own. */
import { type ChildProcess, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, lstatSync, readdirSync, readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { dirname, join } from 'node:path'
import type { Readable, Writable } from 'node:stream'
import { RlError } from '../../../errors.ts'
import {
  type Language,
  type ProgramRun,
  type Provider,
  type RunResult,
  unrun,
  wallLimitMs,
} from '../executor.ts'
import { type ControlGroup, createControlGroup, withDescendants } from './cgroup.ts'
import { findProgram } from './find-program.ts'
import { findPython, type Interpreter, isInside } from './interpreter.ts'
import {
  createReportReader,
  type Execution,
  encodeProgram,
  encodeStart,
  encodeTest,
  type RunnerReport,
  resultOf,
} from './runner-protocol.ts'
import { systemCallFilter } from './seccomp.ts'
import {
  type OtherLanguage,
  openToolchain,
  otherLanguages,
  type Shown,
  same,
  type Toolchain,
} from './toolchain.ts'
import { openUserNamespace, type UserNamespace } from './user-namespace.ts'

const RUNNER = readFileSync(new URL('../runner/sandbox_runner.py', import.meta.url), 'utf8')
/** Changes with every change of the runner that can change a result. */
const SEMANTICS = 'runner-3'
/** Memory for the runner itself, beside the program's. */
const RUNNER_MB = 64
/** Without control groups a process's hidden memory (buffers of sockets) can only be bounded by their number. */
const UNGROUPED_PROCESSES = 16
/** Time for the machine to be slow, beside a test's wall limit. */
const GRACE_MS = 20_000
/** A sandbox is made anew after so many programs. None should be able to change it; this bounds what one that could would reach. */
const PROGRAMS_PER_SANDBOX = 64
/** Compiled programs that are kept for their next tests. */
const BINARIES = 64

export type BwrapOptions = {
  readonly concurrency?: number
  /** The interpreter; default the system's. */
  readonly python?: string
  /** Folders with modules that programs may import, read only, e.g. a virtual environment's site-packages. */
  readonly packages?: readonly string[]
}

/** Finds bwrap and the interpreter; throws where one is missing. Whether they work is `selfTest`'s to find out. */
export async function createBwrapProvider({
  concurrency = availableParallelism(),
  python,
  packages = [],
}: BwrapOptions = {}): Promise<Provider> {
  const bwrap = findProgram('bwrap')
  if (!bwrap)
    throw new RlError('bwrap is not installed', {
      code: 'coding.no-bwrap',
      hint: 'install the package bubblewrap, or use --provider pyodide',
    })
  const filter = systemCallFilter()
  const interpreter = await findPython(python)
  const users = await openUserNamespace(interpreter.path, concurrency)
  const groups = Array.from({ length: concurrency }, (_, slot) => createControlGroup(slot))
  const grouped = groups.every((group) => group !== null)
  const free = Array.from({ length: concurrency }, (_, slot) => slot)
  /** A slot has one sandbox for each kind of work that it has met: a language, or compiling. */
  const sandboxes = new Map<string, Sandbox>()
  const toolchains = new Map<OtherLanguage, Promise<Toolchain>>()
  const binaries = new Map<string, Buffer | RunResult>()

  function toolchainOf(language: OtherLanguage): Promise<Toolchain> {
    const found = toolchains.get(language) ?? openToolchain(language)
    toolchains.set(language, found)
    return found
  }

  async function sandboxFor(slot: number, kind: string, shown: readonly Shown[] = []): Promise<Sandbox> {
    const key = `${slot} ${kind}`
    const known = sandboxes.get(key)
    if (known?.isFit()) return known
    await known?.end()
    const sandbox = openSandbox({
      bwrap: bwrap as string,
      arguments: sandboxArguments(interpreter, { packages, users: users !== null, shown }),
      users,
      start: encodeStart(filter, users ? 1 + slot : 1, packages),
      group: groups[slot],
    })
    sandboxes.set(key, sandbox)
    return sandbox
  }

  /** What is executed: the text itself, or what a compiler makes of it; the compiler's failure where it refuses the text. */
  async function built(
    slot: number,
    { program, language }: ProgramRun,
    { compiler }: Toolchain,
    signal?: AbortSignal,
  ): Promise<string | Buffer | RunResult> {
    if (!compiler) return program
    const key = createHash('sha256').update(`${language}\0${program}`).digest('hex')
    const known = binaries.get(key)
    if (known) return known
    const sandbox = await sandboxFor(slot, `${language} compiler`, compiler.shown)
    const { execution, limits } = compiler
    let result: RunResult = unrun('sandbox_error', 'the compiler gave no result')
    const keep = (_: number, ended: RunResult) => {
      result = ended
    }
    await sandbox.run({ program, stdins: [''], limits, execution }, keep, signal)
    const { verdict, stdout, stderrTail } = result
    const made =
      verdict === 'ok'
        ? Buffer.from(stdout, 'base64')
        : unrun('compile_error', verdict === 'runtime_error' ? stderrTail : `the compiler: ${verdict}`)
    binaries.set(key, made)
    const [oldest] = binaries.keys()
    if (binaries.size > BINARIES) binaries.delete(oldest)
    return made
  }

  async function run(
    job: ProgramRun,
    report: (test: number, result: RunResult) => void,
    signal?: AbortSignal,
  ): Promise<void> {
    const slot = free.pop()
    if (slot === undefined) throw new Error(`more than ${concurrency} programs at once`)
    const limits = grouped
      ? job.limits
      : { ...job.limits, processes: Math.min(job.limits.processes, UNGROUPED_PROCESSES) }
    try {
      signal?.throwIfAborted()
      const { program, stdins, language = 'python' } = job
      const toolchain = language === 'python' ? undefined : await toolchainOf(language)
      const made = toolchain ? await built(slot, job, toolchain, signal) : program
      if (typeof made !== 'string' && 'verdict' in made) {
        for (const test of stdins.keys()) report(test, made)
        return
      }
      const sandbox = await sandboxFor(slot, language, toolchain?.shown)
      const tell = (test: number, result: RunResult) => report(test, inWordsOf(language, result))
      await sandbox.run({ program: made, stdins, limits, execution: toolchain?.execution }, tell, signal)
    } finally {
      free.push(slot)
    }
  }

  return {
    name: 'bwrap',
    detail: [
      interpreter.version,
      users ? 'a user of its own for programs' : 'one user for runner and programs',
      grouped ? 'control groups' : 'no control groups: limits by the runner',
    ].join(', '),
    semantics: `${SEMANTICS} ${interpreter.version} ${grouped ? 'groups' : 'no groups'} ${packages.join(':')}`,
    languages: ['python', ...otherLanguages()],
    concurrency,
    run,
    leftBehind() {
      const open = [...sandboxes.values()].filter((sandbox) => sandbox.isFit())
      const processes = open.flatMap((sandbox) => sandbox.strangers())
      const held = open.length > 0 ? groups.map((group) => (group?.heldKB() ?? 0) - RUNNER_MB * 1024) : []
      return {
        processes: processes.length,
        files: users ? filesOf(users.owner, concurrency) : 0,
        keys: users ? keysOf(users.owner, concurrency) : 0,
        memoryKB: Math.max(0, ...held),
      }
    },
    async close() {
      await Promise.all([...sandboxes.values()].map((sandbox) => sandbox.end()))
      await Promise.all(groups.map((group) => group?.remove()))
      users?.close()
    },
  }
}

type SandboxOptions = {
  readonly bwrap: string
  readonly arguments: readonly string[]
  readonly users: UserNamespace | null
  readonly start: Buffer
  readonly group: ControlGroup | null
}

/** What a sandbox is given: a text or bytes, and how they are executed where they are no Python. */
type Work = Pick<ProgramRun, 'stdins' | 'limits'> & {
  readonly program: string | Uint8Array
  readonly execution?: Execution
}

type Sandbox = {
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

/** One runner. Whatever goes wrong ends it: the next program gets another. */
function openSandbox({ bwrap, arguments: words, users, start, group }: SandboxOptions): Sandbox {
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
  const starting = setTimeout(() => fail(`did not start in ${GRACE_MS / 1000} s`), GRACE_MS)
  void ready.then(() => clearTimeout(starting))

  async function run(
    { program, stdins, limits, execution }: Work,
    report: (test: number, result: RunResult) => void,
    signal?: AbortSignal,
  ): Promise<void> {
    programs++
    await ready
    let oomKills = 0
    let deadline: NodeJS.Timeout | undefined
    const abort = () => fail('was ended with its run')
    try {
      signal?.throwIfAborted()
      if (failure === null)
        try {
          group?.enter(child.pid as number, {
            memoryMB: limits.memoryMB + limits.fileMB + RUNNER_MB,
            processes: limits.processes + 8,
          })
          oomKills = group?.oomKills() ?? 0
        } catch (cause) {
          fail(`its control group cannot be entered: ${cause instanceof Error ? cause.message : cause}`)
        }
      if (failure !== null) throw sandboxError(failure)
      signal?.addEventListener('abort', abort, { once: true })
      await new Promise<void>((resolve, reject) => {
        let next = 0
        const wait = () => {
          clearTimeout(deadline)
          deadline = setTimeout(() => fail('a test did not end'), wallLimitMs(limits) + GRACE_MS)
        }
        task = {
          onEnd: (reason) => reject(sandboxError(reason)),
          onReport(seen) {
            if (seen.index !== next) return fail('a result came for another test')
            next++
            const kills = hasFailed(seen) ? (group?.oomKills() ?? 0) : oomKills
            report(seen.index, resultOf(seen, limits, kills > oomKills))
            oomKills = kills
            if (next < stdins.length) return wait()
            task = null
            resolve()
          },
        }
        wait()
        child.stdin.write(encodeProgram(program, limits, execution))
        for (const [test, stdin] of stdins.entries()) child.stdin.write(encodeTest(test, stdin))
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

/** Node tells a text that is no program by an exception of its loader. */
const inWordsOf = (language: Language, result: RunResult): RunResult =>
  language === 'javascript' && result.verdict === 'runtime_error' && /^ +at wrapSafe/m.test(result.stderrTail)
    ? { ...result, verdict: 'compile_error' }
    : result

/** bwrap and the runner. */
const OWN_PROCESSES = 2

/** Files of the programs' users in the folders that everyone may write to. */
const filesOf = (owner: number, programs: number) =>
  ['/tmp', '/var/tmp', '/dev/shm'].reduce((count, folder) => {
    const names = existsSync(folder) ? readdirSync(folder) : []
    const owners = names.map((name) => lstatSync(join(folder, name), { throwIfNoEntry: false })?.uid ?? 0)
    return count + owners.filter((uid) => uid > owner && uid <= owner + programs).length
  }, 0)

/** Keys in the kernel's keyrings of the programs' users. */
function keysOf(owner: number, programs: number): number {
  if (!existsSync('/proc/key-users')) return 0
  const users = [...readFileSync('/proc/key-users', 'utf8').matchAll(/^\s*(\d+):\s+\d+ (\d+)\//gm)]
  return users
    .filter(([, uid]) => Number(uid) > owner && Number(uid) <= owner + programs)
    .reduce((sum, [, , keys]) => sum + Number(keys), 0)
}

const hasFailed = ({ exitCode, ended }: RunnerReport) => exitCode !== 0 || ended !== '-'

const sandboxError = (message: string) =>
  new RlError(`bwrap: ${message}`, { code: 'coding.sandbox', hint: 'rl doctor tests the sandbox' })

/** No network, no other process, of the system only what the interpreter needs, an empty environment, no capability for programs. */
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
  const devices = ['null', 'zero', 'full', 'random', 'urandom'].map((name) => `/dev/${name}`)
  return [
    ...(users ? ['--userns', '3'] : ['--unshare-user', '--uid', '1', '--gid', '1']),
    ...['--unshare-ipc', '--unshare-pid', '--unshare-net', '--unshare-uts', '--unshare-cgroup-try'],
    ...['--hostname', 'sandbox', '--die-with-parent', '--new-session', '--as-pid-1'],
    // Of the runner, which needs them to give each test its own namespaces, files and user.
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
