/**
 * Programs in containers of podman or docker, or in gVisor's runsc. Each test has one container, of which
 * nothing stays.
 */

import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { RlError } from 'rlanything/kit'
import type { Limits, ProgramRun, Provider } from '../provider.ts'
import type { RunResult, Verdict } from '../run-result.ts'
import { type CommandEnd, isCompileError, runCommand } from './command.ts'
import { findProgram } from './find-program.ts'
import { findPython, type Interpreter } from './interpreter.ts'
import { isMemoryError } from './runner-protocol.ts'

type Engine = 'podman' | 'docker' | 'gvisor'

export type ContainerOptions = {
  readonly engine: Engine
  /** Image with python3, for podman and docker. It must be there already (nothing is fetched). */
  readonly image?: string
  readonly concurrency?: number
}

const PROGRAM: Readonly<Record<Engine, string>> = { podman: 'podman', docker: 'docker', gvisor: 'runsc' }
const DEFAULT_IMAGE = 'python:3-slim'
/** Time that a container needs to start and to go, beside its program. */
const GRACE_MS = 10_000
/** Exit codes of podman and docker if they, and not the program, have failed. */
const ENGINE_FAILED = [125, 126, 127]

/** Takes the program from the beginning of the input. The rest of the input is for the program. */
const BOOT = `import os
size = b''
while not size.endswith(b'\\n'):
    size += os.read(0, 1)
left = int(size)
with open('/tmp/main.py', 'wb') as file:
    while left:
        part = os.read(0, min(left, 65536))
        file.write(part)
        left -= len(part)
os.execv(os.sys.executable, ['python3', '-s', '-B', '/tmp/main.py'])
`

/**
 * Finds the engine. `selfTest` finds out whether it works.
 * @throws RlError if it is missing
 */
export async function createContainerProvider({
  engine,
  image = DEFAULT_IMAGE,
  concurrency = availableParallelism(),
}: ContainerOptions): Promise<Provider> {
  const command = findProgram(PROGRAM[engine])
  if (!command)
    throw new RlError(`${PROGRAM[engine]} is not installed`, {
      code: 'coding.no-engine',
      hint: `install ${PROGRAM[engine]}, or use another environment.coding.sandbox.provider`,
    })
  const interpreter = engine === 'gvisor' ? await findPython() : null

  /** Containers that are being removed: a killed client leaves its container behind. */
  const removals = new Set<Promise<void>>()
  const remove = (words: readonly string[]) => {
    const child = spawn(command, words, { stdio: 'ignore', detached: true, timeout: GRACE_MS })
    const done = () => void removals.delete(removal)
    const removal: Promise<void> = once(child, 'exit').then(done, done)
    removals.add(removal)
  }

  async function runOnce(program: string, stdin: string, limits: Limits, signal?: AbortSignal) {
    const name = `rl-program-${randomUUID()}`
    const text = Buffer.from(program)
    const input = Buffer.concat([Buffer.from(`${text.length}\n`), text, Buffer.from(stdin)])
    const bundle = interpreter ? await writeBundle(interpreter, limits) : null
    try {
      const args = bundle ? gvisorArguments(bundle, name) : containerArguments(image, name, limits)
      const removal = bundle ? ['--rootless', 'delete', '--force', name] : ['rm', '--force', name]
      const run = await runCommand({
        command: command as string,
        args,
        input,
        limits,
        env: {
          PATH: process.env.PATH ?? '',
          HOME: process.env.HOME ?? '/',
          XDG_RUNTIME_DIR: process.env.XDG_RUNTIME_DIR ?? '',
        },
        graceMs: GRACE_MS,
        signal,
        kill: () => remove(removal),
      })
      return resultOf(run, engine)
    } finally {
      if (bundle) await rm(bundle, { recursive: true, force: true })
    }
  }

  async function run(
    { program, stdins, limits }: ProgramRun,
    report: (test: number, result: RunResult) => void,
    signal?: AbortSignal,
  ): Promise<void> {
    for (const [test, stdin] of stdins.entries()) report(test, await runOnce(program, stdin, limits, signal))
  }

  return {
    name: engine,
    detail: interpreter ? `runsc, ${interpreter.version}` : `${engine}, image ${image}`,
    semantics: `container-1 ${engine} ${interpreter?.version ?? image}`,
    concurrency,
    run,
    async close() {
      await Promise.all(removals)
    },
  }
}

/** The same words for podman and docker: no network, nothing to write but a small /tmp, no right, no root. */
function containerArguments(image: string, name: string, limits: Limits): string[] {
  return [
    ...['run', '--rm', '--interactive', '--name', name, '--pull', 'never', '--network', 'none'],
    ...['--read-only', '--tmpfs', `/tmp:rw,nosuid,nodev,size=${limits.fileMB}m,mode=1777`],
    ...['--cap-drop', 'ALL', '--security-opt', 'no-new-privileges', '--user', '65534:65534'],
    ...['--memory', `${limits.memoryMB}m`, '--memory-swap', `${limits.memoryMB}m`],
    ...['--pids-limit', String(limits.processes), '--ulimit', `cpu=${Math.ceil(limits.cpuMs / 1000)}`],
    ...['--ulimit', 'core=0', '--ulimit', 'nofile=64', '--ulimit', `fsize=${limits.fileMB * 2 ** 20}`],
    ...['--env', 'PYTHONHASHSEED=0', '--workdir', '/tmp', '--ipc', 'private', '--entrypoint', 'python3'],
    ...[image, '-s', '-B', '-c', BOOT],
  ]
}

const gvisorArguments = (bundle: string, name: string) => [
  ...['--rootless', '--network=none', '--ignore-cgroups', 'run', `--bundle=${bundle}`, name],
]

/** Writes an OCI bundle. Its root holds only the interpreter's files. */
async function writeBundle(interpreter: Interpreter, limits: Limits): Promise<string> {
  const bundle = await mkdtemp(join(tmpdir(), 'rl-bundle-'))
  await writeFile(join(bundle, 'config.json'), JSON.stringify(ociConfig(interpreter, limits)))
  return bundle
}

export function ociConfig({ path, files, libraryFolders }: Interpreter, limits: Limits): object {
  const readOnly = files.map((file) => ({
    destination: file,
    source: file,
    type: 'bind',
    options: ['bind', 'ro', 'nosuid', 'nodev'],
  }))
  const rlimit = (type: string, hard: number) => ({ type, hard, soft: hard })
  return {
    ociVersion: '1.0.0',
    process: {
      user: { uid: 0, gid: 0 },
      args: [path, '-s', '-S', '-B', '-c', BOOT],
      env: [
        'PATH=/usr/bin:/bin',
        'HOME=/tmp',
        'LANG=C.UTF-8',
        'PYTHONHASHSEED=0',
        `LD_LIBRARY_PATH=${libraryFolders.join(':')}`,
      ],
      cwd: '/tmp',
      capabilities: {},
      noNewPrivileges: true,
      rlimits: [
        rlimit('RLIMIT_CPU', Math.ceil(limits.cpuMs / 1000)),
        rlimit('RLIMIT_AS', (limits.memoryMB + 1024) * 2 ** 20),
        rlimit('RLIMIT_NOFILE', 64),
        rlimit('RLIMIT_FSIZE', limits.fileMB * 2 ** 20),
      ],
    },
    root: { path: 'root', readonly: true },
    hostname: 'sandbox',
    mounts: [
      ...readOnly,
      {
        destination: '/tmp',
        type: 'tmpfs',
        source: 'tmpfs',
        options: ['nosuid', 'nodev', `size=${limits.fileMB}m`],
      },
      { destination: '/proc', type: 'proc', source: 'proc' },
    ],
    linux: {
      namespaces: ['pid', 'ipc', 'uts', 'mount', 'network', 'user'].map((type) => ({ type })),
      resources: { memory: { limit: limits.memoryMB * 2 ** 20 }, pids: { limit: limits.processes } },
    },
  }
}

function resultOf(run: CommandEnd, engine: Engine): RunResult {
  if (
    run.ended === null &&
    run.exitCode !== null &&
    ENGINE_FAILED.includes(run.exitCode) &&
    !isFromProgram(run)
  )
    throw new RlError(`${engine}: ended with ${run.exitCode}: ${run.stderrTail.trim().slice(-500)}`, {
      code: 'coding.sandbox',
      hint: 'rl doctor tests the sandbox',
    })
  return {
    verdict: verdictOf(run),
    stdout: run.stdout,
    stderrTail: run.stderrTail,
    exitCode: run.exitCode,
    signal: null,
    cpuMs: 0,
    wallMs: run.wallMs,
    peakKB: 0,
    truncated: run.ended === 'output_limit',
  }
}

/** A program may end with the engine's codes as well: then the engine says nothing. */
const isFromProgram = ({ stderrTail }: CommandEnd) => !/\b(error|Error):/i.test(stderrTail)

function verdictOf({ ended, exitCode, stderrTail }: CommandEnd): Verdict {
  if (ended !== null) return ended
  if (exitCode === 0) return 'ok'
  if (exitCode === 137 || isMemoryError(stderrTail)) return 'memory'
  if (exitCode === 152) return 'timeout' // 128 + SIGXCPU
  return isCompileError(stderrTail) ? 'compile_error' : 'runtime_error'
}
