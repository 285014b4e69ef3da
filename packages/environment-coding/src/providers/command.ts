/** One run of a command of this machine: its input, its bounded output, and its end at the wall limit. */

import { spawn } from 'node:child_process'
import { RlError } from 'rlanything/kit'
import { type Limits, wallLimitMs } from '../provider.ts'

export type CommandRun = {
  readonly command: string
  readonly args: readonly string[]
  readonly input: string | Buffer
  readonly limits: Limits
  readonly cwd?: string
  readonly env?: Readonly<Record<string, string>>
  /** Ends what the command started outside its own process group. */
  readonly kill?: () => void
  /** Time for the command itself, beside the program's. */
  readonly graceMs?: number
  readonly signal?: AbortSignal
}

export type CommandEnd = {
  readonly stdout: string
  readonly stderrTail: string
  readonly exitCode: number | null
  readonly signal: NodeJS.Signals | null
  /** Why it was ended. Null if it ended by itself. */
  readonly ended: 'timeout' | 'output_limit' | null
  readonly wallMs: number
}

const STDERR_TAIL = 4096

export function runCommand(run: CommandRun): Promise<CommandEnd> {
  const { command, args, input, limits, cwd, env = {}, graceMs = 0, signal } = run
  const begun = performance.now()
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd, env, stdio: 'pipe', detached: true })
    const stdout: Buffer[] = []
    let size = 0
    let stderr = Buffer.alloc(0)
    let ended: CommandEnd['ended'] = null
    const kill = (why: CommandEnd['ended']) => {
      ended ??= why
      run.kill?.()
      try {
        process.kill(-(child.pid as number), 'SIGKILL')
      } catch {} // it has just ended
    }
    const wall = setTimeout(() => kill('timeout'), wallLimitMs(limits) + graceMs)
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
    child.stdin.end(input)
    child.on('error', (cause) =>
      reject(new RlError(`cannot start ${command}: ${cause.message}`, { code: 'coding.sandbox', cause })),
    )
    child.on('close', (exitCode, endSignal) => {
      clearTimeout(wall)
      signal?.removeEventListener('abort', abort)
      if (signal?.aborted) return reject(signal.reason)
      resolve({
        stdout: Buffer.concat(stdout).toString(),
        stderrTail: stderr.toString(),
        exitCode,
        signal: endSignal,
        ended,
        wallMs: performance.now() - begun,
      })
    })
  })
}

/**
 * Whether the compiler refused the text. Its traceback has no head line, unlike that of a program that
 * compiled something.
 */
export function isCompileError(stderrTail: string): boolean {
  return /^(SyntaxError|IndentationError|TabError)\b/m.test(stderrTail) && stderrTail.startsWith('  File ')
}
