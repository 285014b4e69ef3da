/** Programs as plain processes of this user. No isolation at all: for trusted programs, and to measure the sandboxes against. */
import { spawn } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { RlError } from '../../../errors.ts'
import {
  type Limits,
  type ProgramRun,
  type Provider,
  type RunResult,
  type Verdict,
  wallLimitMs,
} from '../executor.ts'
import { findProgram } from './find-program.ts'
import { isMemoryError } from './runner-protocol.ts'

export type ProcessOptions = {
  readonly concurrency?: number
  readonly python?: string
  /** Must be true. */
  readonly allowUnsafe?: boolean
  readonly warn?: (line: string) => void
}

const STDERR_TAIL = 4096
const SIGNALS: Readonly<Record<string, number>> = {
  SIGKILL: 9,
  SIGSEGV: 11,
  SIGABRT: 6,
  SIGXCPU: 24,
  SIGTERM: 15,
}

export function createProcessProvider({
  concurrency = availableParallelism(),
  python,
  allowUnsafe = false,
  warn = (line) => process.stderr.write(`${line}\n`),
}: ProcessOptions = {}): Provider {
  if (!allowUnsafe)
    throw new RlError('the provider process runs programs with all the rights of this user', {
      code: 'coding.unsafe',
      hint: 'add --allow-unsafe if every program is trusted, or use another provider',
    })
  const interpreter = python ?? findProgram('python3', ['/usr/bin']) ?? findProgram('python3')
  if (!interpreter)
    throw new RlError('python3 is not installed', { code: 'coding.no-python', hint: 'install python3' })
  warn('WARNING: programs run unprotected, with your files, your network and your rights (provider process).')

  async function run(
    { program, stdins, limits }: ProgramRun,
    report: (test: number, result: RunResult) => void,
    signal?: AbortSignal,
  ): Promise<void> {
    const folder = await mkdtemp(join(tmpdir(), 'rl-program-'))
    try {
      await writeFile(join(folder, 'main.py'), program)
      for (const [test, stdin] of stdins.entries())
        report(test, await runOnce(interpreter as string, folder, stdin, limits, signal))
    } finally {
      await rm(folder, { recursive: true, force: true })
    }
  }

  return {
    name: 'process',
    detail: `${interpreter}, no isolation`,
    semantics: `process-1 ${interpreter}`,
    concurrency,
    run,
    close: async () => {},
  }
}

/** A traceback of the compiler has no head line, unlike that of a program that compiled something itself. */
function failureOf(stderrTail: string): Verdict {
  const isSyntax = /^(SyntaxError|IndentationError|TabError)\b/m.test(stderrTail)
  return isSyntax && stderrTail.startsWith('  File ') ? 'compile_error' : 'runtime_error'
}

function runOnce(
  python: string,
  cwd: string,
  stdin: string,
  limits: Limits,
  signal?: AbortSignal,
): Promise<RunResult> {
  const begun = performance.now()
  return new Promise((resolve, reject) => {
    const seconds = Math.ceil(limits.cpuMs / 1000)
    const bytes = (limits.memoryMB + 1024) * 2 ** 20
    const limited = `ulimit -t ${seconds}; ulimit -v ${bytes / 1024}; exec "$0" -s -B main.py`
    const child = spawn('/bin/sh', ['-c', limited, python], {
      cwd,
      env: { PATH: '/usr/bin:/bin', LANG: 'C.UTF-8', PYTHONHASHSEED: '0' },
      stdio: 'pipe',
      detached: true,
    })
    const stdout: Buffer[] = []
    let size = 0
    let stderr = Buffer.alloc(0)
    let ended: 'timeout' | 'output_limit' | null = null
    const kill = (why: typeof ended) => {
      ended ??= why
      try {
        process.kill(-(child.pid as number), 'SIGKILL')
      } catch {} // it has just ended
    }
    const wall = setTimeout(() => kill('timeout'), wallLimitMs(limits))
    const abort = () => kill(null)
    signal?.addEventListener('abort', abort, { once: true })
    child.stdout.on('data', (chunk: Buffer) => {
      const room = limits.outputBytes - size
      size += chunk.length
      if (room > 0) stdout.push(chunk.subarray(0, room))
      if (size > limits.outputBytes) kill('output_limit')
    })
    child.stderr.on('data', (chunk: Buffer) => {
      stderr = Buffer.concat([stderr, chunk]).subarray(-STDERR_TAIL)
    })
    child.stdin.on('error', () => {}) // a program need not read its input
    child.stdin.end(stdin)
    child.on('error', (cause) =>
      reject(new RlError(`cannot start ${python}: ${cause.message}`, { code: 'coding.sandbox', cause })),
    )
    child.on('close', (status, name) => {
      clearTimeout(wall)
      signal?.removeEventListener('abort', abort)
      if (signal?.aborted) return reject(signal.reason)
      const number = name === null ? null : (SIGNALS[name] ?? 0)
      const stderrTail = stderr.toString()
      const cpuEnded = name === 'SIGXCPU' || (name === 'SIGKILL' && ended === null)
      resolve({
        verdict:
          ended ??
          (cpuEnded
            ? 'timeout'
            : status === 0
              ? 'ok'
              : isMemoryError(stderrTail)
                ? 'memory'
                : failureOf(stderrTail)),
        stdout: Buffer.concat(stdout).toString(),
        stderrTail,
        exitCode: status,
        signal: number,
        cpuMs: 0,
        wallMs: performance.now() - begun,
        peakKB: 0,
        truncated: ended === 'output_limit',
      })
    })
  })
}
