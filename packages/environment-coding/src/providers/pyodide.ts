/**
 * Programs in CPython compiled to WebAssembly: the portable sandbox, for machines without bwrap. No threads,
 * no processes.
 */

import { type ChildProcess, fork } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import { RlError } from 'rlanything/kit'
import { type Limits, type ProgramRun, type Provider, wallLimitMs } from '../provider.ts'
import type { RunResult, Verdict } from '../run-result.ts'
import { isMemoryError } from './runner-protocol.ts'

const HOST = fileURLToPath(new URL('../runner/pyodide_host.mjs', import.meta.url))
/**
 * Real folder of pyodide, since the folder of modules can be a link. The host may read nothing on the way to
 * it.
 */
const PYODIDE = new URL('.', import.meta.resolve('pyodide'))
const RUNNER_FOLDER = fileURLToPath(new URL('../runner/', import.meta.url))
const { version } = JSON.parse(readFileSync(new URL('package.json', PYODIDE), 'utf8')) as { version: string }
const SEMANTICS = `pyodide-4 ${version} Node ${process.version}`
/** WebAssembly is slower than the machine (2.8 times, measured): the CPU limit is stretched, so that verdicts agree with bwrap's. */
const CPU_STRETCH = 3
const START_MS = 180_000
const GRACE_MS = 60_000

type HostMessage =
  | { readonly ready: string }
  | { readonly failed: string }
  | {
      readonly id: number
      /** ended, uncompiled, cpu, wall, memory, output, crashed (the interpreter), failed (the host). */
      readonly outcome: string
      readonly code?: number | null
      readonly stdout?: string
      readonly stderrTail?: string
      readonly cpuMs?: number
      readonly wallMs?: number
      readonly peakKB?: number
      readonly reason?: string
    }

export type PyodideOptions = {
  /** Number of child processes. Each holds about 200 MB. */
  readonly concurrency?: number
}

export function createPyodideProvider({
  concurrency = Math.min(2, availableParallelism()),
}: PyodideOptions = {}): Provider {
  const idle: ChildProcess[] = []
  const live = new Set<ChildProcess>()
  let runs = 0

  async function run(
    { program, stdins, limits }: ProgramRun,
    report: (test: number, result: RunResult) => void,
    signal?: AbortSignal,
  ): Promise<void> {
    const child = idle.pop() ?? (await start())
    const run = ++runs
    try {
      for (const [test, stdin] of stdins.entries()) {
        const result = await runOnce(child, run, test, program, stdin, limits, signal)
        report(test, result)
      }
      idle.push(child)
    } catch (error) {
      child.kill('SIGKILL')
      throw error
    }
  }

  async function start(): Promise<ChildProcess> {
    const child = fork(HOST, [PYODIDE.href], {
      env: {},
      execArgv: hostFlags(),
      serialization: 'advanced',
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    })
    live.add(child)
    child.once('close', () => {
      live.delete(child)
      const place = idle.indexOf(child)
      if (place >= 0) idle.splice(place, 1)
    })
    const message = await nextMessage(child, START_MS)
    if ('ready' in message) return child
    child.kill('SIGKILL')
    throw failure(
      `the interpreter cannot be loaded: ${'failed' in message ? message.failed : 'unexpected answer'}`,
    )
  }

  return {
    name: 'pyodide',
    detail:
      'CPython in WebAssembly in a child process: no threads, no processes, no network, alarms that never ring, no other languages (packages/environment-coding/README.md says what fails here alone)',
    semantics: SEMANTICS,
    concurrency,
    run,
    async close() {
      idle.length = 0
      await Promise.all(
        [...live].map(
          (child) =>
            new Promise((resolve) => {
              child.once('close', resolve)
              child.kill('SIGKILL')
            }),
        ),
      )
    },
  }
}

/**
 * Forbids code from strings, files but pyodide's, and child processes. The flag of the permission model
 * depends on Node.
 */
function hostFlags(): string[] {
  const permission = process.allowedNodeEnvironmentFlags.has('--permission')
    ? '--permission'
    : '--experimental-permission'
  return [
    '--no-warnings',
    '--disallow-code-generation-from-strings',
    permission,
    '--allow-worker',
    `--allow-fs-read=${RUNNER_FOLDER}`,
    '--allow-fs-read=/usr/share/zoneinfo',
    `--allow-fs-read=${fileURLToPath(PYODIDE)}`,
  ]
}

async function runOnce(
  child: ChildProcess,
  run: number,
  id: number,
  program: string,
  stdin: string,
  limits: Limits,
  signal?: AbortSignal,
): Promise<RunResult> {
  signal?.throwIfAborted()
  const cpuMs = limits.cpuMs * CPU_STRETCH
  const wallMs = wallLimitMs({ ...limits, cpuMs })
  const answer = nextMessage(child, wallMs + GRACE_MS, signal)
  child.send({
    run,
    id,
    program,
    stdin,
    cpuMs,
    wallMs,
    memoryMB: limits.memoryMB,
    outputBytes: limits.outputBytes,
    fileMB: limits.fileMB,
  })
  const message = await answer
  if (!('id' in message) || message.id !== id || message.outcome === 'failed')
    throw failure(`the host failed: ${JSON.stringify(message).slice(0, 200)}`)
  const stderrTail = message.stderrTail ?? ''
  const code = message.code ?? null
  return {
    verdict: verdictOf(message.outcome, code, stderrTail),
    stdout: message.stdout ?? '',
    stderrTail,
    exitCode: message.outcome === 'uncompiled' ? 1 : code,
    signal: null,
    cpuMs: message.cpuMs ?? 0,
    wallMs: message.wallMs ?? 0,
    peakKB: message.peakKB ?? 0,
    truncated: message.outcome === 'output',
  }
}

function verdictOf(outcome: string, code: number | null, stderrTail: string): Verdict {
  if (outcome === 'output') return 'output_limit'
  if (outcome === 'cpu' || outcome === 'wall') return 'timeout'
  if (outcome === 'memory') return 'memory'
  if (outcome === 'uncompiled') return 'compile_error'
  if (outcome === 'ended' && code === 0) return 'ok'
  return isMemoryError(stderrTail) ? 'memory' : 'runtime_error'
}

/** Resolves to the child's next message. Rejects if the child ends, is late, or the signal is aborted. */
function nextMessage(child: ChildProcess, deadlineMs: number, signal?: AbortSignal): Promise<HostMessage> {
  return new Promise((resolve, reject) => {
    const settle = (action: () => void) => {
      clearTimeout(timer)
      child.off('message', onMessage)
      child.off('close', onClose)
      child.off('error', onError)
      signal?.removeEventListener('abort', onAbort)
      action()
    }
    const onMessage = (message: unknown) => settle(() => resolve(message as HostMessage))
    const onClose = (status: number | null, name: string | null) =>
      settle(() => reject(failure(`its process ended with ${name ?? status}`)))
    const onError = (cause: Error) => settle(() => reject(failure(cause.message, cause)))
    const onAbort = () => settle(() => reject(signal?.reason))
    const timer = setTimeout(
      () => settle(() => reject(failure(`no answer in ${deadlineMs / 1000} s`))),
      deadlineMs,
    )
    child.on('message', onMessage)
    child.on('close', onClose)
    child.on('error', onError)
    signal?.addEventListener('abort', onAbort, { once: true })
  })
}

function failure(message: string, cause?: unknown): RlError {
  return new RlError(`pyodide: ${message}`, {
    code: 'coding.sandbox',
    hint: 'reinstall the package pyodide, or use another provider',
    cause,
  })
}
