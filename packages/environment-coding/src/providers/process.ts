/** Programs as plain processes of this user. No isolation at all: for trusted programs, and to measure the sandboxes against. */

import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { availableParallelism, constants, tmpdir } from 'node:os'
import { join } from 'node:path'
import { RlError } from 'rlanything/kit'
import type { Limits, ProgramRun, Provider } from '../provider.ts'
import type { RunResult, Verdict } from '../run-result.ts'
import { type CommandEnd, isCompileError, runCommand } from './command.ts'
import { findProgram } from './find-program.ts'
import { isMemoryError } from './runner-protocol.ts'

export type ProcessOptions = {
  readonly concurrency?: number
  readonly python?: string
  /** Must be true. */
  readonly allowUnsafe?: boolean
  readonly warn?: (line: string) => void
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

async function runOnce(
  python: string,
  cwd: string,
  stdin: string,
  limits: Limits,
  signal?: AbortSignal,
): Promise<RunResult> {
  const bytes = (limits.memoryMB + 1024) * 2 ** 20
  const limited = `ulimit -s "$(ulimit -H -s)"; ulimit -t ${Math.ceil(limits.cpuMs / 1000)}; ulimit -v ${bytes / 1024}; exec "$0" -s -B main.py`
  const run = await runCommand({
    command: '/bin/sh',
    args: ['-c', limited, python],
    input: stdin,
    limits,
    cwd,
    env: { PATH: '/usr/bin:/bin', LANG: 'C.UTF-8', PYTHONHASHSEED: '0', ONLINE_JUDGE: '1' },
    signal,
  })
  return {
    verdict: verdictOf(run),
    stdout: run.stdout,
    stderrTail: run.stderrTail,
    exitCode: run.exitCode,
    signal: run.signal === null ? null : (constants.signals[run.signal] ?? 0),
    cpuMs: 0,
    wallMs: run.wallMs,
    peakKB: 0,
    truncated: run.ended === 'output_limit',
  }
}

function verdictOf({ ended, signal, exitCode, stderrTail }: CommandEnd): Verdict {
  if (ended !== null) return ended
  if (signal === 'SIGXCPU' || signal === 'SIGKILL') return 'timeout'
  if (exitCode === 0) return 'ok'
  if (isMemoryError(stderrTail)) return 'memory'
  return isCompileError(stderrTail) ? 'compile_error' : 'runtime_error'
}
