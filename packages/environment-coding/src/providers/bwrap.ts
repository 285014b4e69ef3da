/** Programs in bubblewrap sandboxes: one sandbox for each slot and kind of work. */

import { createHash } from 'node:crypto'
import { existsSync, lstatSync, readdirSync, readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { createControlGroup, itemAt, RlError } from 'rlanything/kit'
import type { Language, ProgramRun, Provider } from '../provider.ts'
import type { RunResult } from '../run-result.ts'
import { unrun } from '../tries.ts'
import { openSandbox, RUNNER_MB, type Sandbox, sandboxArguments } from './bwrap-sandbox.ts'
import { findProgram } from './find-program.ts'
import { findPython } from './interpreter.ts'
import { encodeStart } from './runner-protocol.ts'
import { systemCallFilter } from './seccomp.ts'
import {
  type OtherLanguage,
  openToolchain,
  otherLanguages,
  otherVersions,
  type Shown,
  type Toolchain,
} from './toolchain.ts'
import { openUserNamespace } from './user-namespace.ts'

/** Changes with every change of the runner that can change a result. */
const SEMANTICS = 'runner-8'
/** Without control groups a process's hidden memory (buffers of sockets) can only be bounded by their number. */
const UNGROUPED_PROCESSES = 16
/**
 * Most bytes of compiled programs that are kept for their next tests: all together, and of one besides its
 * own.
 */
const MOST_BINARY_BYTES = 256 << 20
const BINARY_BYTES = 64 << 10

export type BwrapOptions = {
  readonly concurrency?: number
  /** The interpreter. Default: the system's. */
  readonly python?: string
  /** Folders with modules that programs may import, read only, e.g. a virtual environment's site-packages. */
  readonly packages?: readonly string[]
}

/**
 * Finds bwrap and the interpreter. `selfTest` finds out whether they work.
 * @throws RlError if one is missing
 */
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
  const versions = [interpreter.version, ...(await otherVersions())].join(', ')
  const users = await openUserNamespace(interpreter.path, concurrency)
  const groups = Array.from({ length: concurrency }, (_, slot) => createControlGroup('coding', slot))
  const grouped = groups.every((group) => group !== null)
  const free = Array.from({ length: concurrency }, (_, slot) => slot)
  /** Sandboxes of a slot, one for each kind of work that it has met: a language, or compiling. */
  const sandboxes = new Map<string, Sandbox>()
  const toolchains = new Map<OtherLanguage, Promise<Toolchain>>()
  const binaries = new Map<string, Buffer | RunResult>()

  /** Opens a toolchain. If a busy machine could not open it, it is tried again at the next need. */
  function toolchainOf(language: OtherLanguage): Promise<Toolchain> {
    const known = toolchains.get(language)
    if (known) return known
    const opened = openToolchain(language)
    toolchains.set(language, opened)
    opened.catch(() => toolchains.delete(language))
    return opened
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
      group: itemAt(groups, slot),
    })
    sandboxes.set(key, sandbox)
    return sandbox
  }

  /**
   * Resolves to what is executed: the text itself, or a compiler's output. Resolves to the failure if the
   * compiler refuses.
   */
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
    // The machine may have been slow, so this is not kept, unless the compiler used its CPU time.
    if (verdict === 'timeout' && result.cpuMs < limits.cpuMs) return unrun('timeout', 'the compiler: timeout')
    const made =
      verdict === 'ok'
        ? Buffer.from(stdout, 'base64')
        : unrun('compile_error', verdict === 'runtime_error' ? stderrTail : `the compiler: ${verdict}`)
    keepBinary(key, made)
    return made
  }

  function keepBinary(key: string, made: Buffer | RunResult): void {
    binaries.set(key, made)
    let bytes = 0
    // The newest are kept.
    for (const [other, one] of [...binaries].reverse()) {
      bytes += BINARY_BYTES + ('verdict' in one ? 0 : one.length)
      if (bytes > MOST_BINARY_BYTES && other !== key) binaries.delete(other)
    }
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
      const { program, stdins, interactor, language = 'python' } = job
      const toolchain = language === 'python' ? undefined : await toolchainOf(language)
      const made = toolchain ? await built(slot, job, toolchain, signal) : program
      if (typeof made !== 'string' && 'verdict' in made) {
        for (const test of stdins.keys()) report(test, made)
        return
      }
      const sandbox = await sandboxFor(slot, language, toolchain?.shown)
      const tell = (test: number, result: RunResult) => report(test, inWordsOf(language, result))
      const execution = toolchain?.execution(limits)
      await sandbox.run({ program: made, stdins, limits, execution, interactor }, tell, signal)
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
    semantics: `${SEMANTICS} ${versions} ${grouped ? 'groups' : 'no groups'} ${packages.join(':')}`,
    languages: ['python', ...otherLanguages()],
    interactive: true,
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

/** Node tells a text that is no program by an exception of its loader. */
const inWordsOf = (language: Language, result: RunResult): RunResult =>
  language === 'javascript' && result.verdict === 'runtime_error' && /^ +at wrapSafe/m.test(result.stderrTail)
    ? { ...result, verdict: 'compile_error' }
    : result
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
