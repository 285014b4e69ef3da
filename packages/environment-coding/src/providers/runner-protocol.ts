/** The binary protocol of runner/sandbox_runner.py, from the outside. */
import { type Limits, wallLimitMs } from '../provider.ts'
import type { RunResult, Verdict } from '../run-result.ts'

/**
 * Encodes what a runner is told once: the filter of system calls, the user of its programs, and folders of
 * modules.
 */
export function encodeStart(filter: Buffer, programUser: number, modulePaths: readonly string[]): Buffer {
  return Buffer.concat([
    u32(filter.length),
    filter,
    u32(programUser),
    u32(modulePaths.length),
    ...modulePaths.map(text16),
  ])
}

/** How to start a program that is not Python: the name of its file, and the command to execute. */
export type Execution = {
  readonly file: string
  readonly argv: readonly string[]
  /**
   * Set if the program itself is executed, and not an interpreter or compiler. Its address space has a limit,
   * its stack does not have one of its own.
   */
  readonly native?: true
}

/** Address space beside a program's memory and its stack, in MiB. */
const SPARE_ADDRESS_MB = 1024

/**
 * Encodes a program and its limits. The following tests are for it, or it is the partner in conversations.
 */
export function encodeProgram(
  program: string | Uint8Array,
  limits: Limits,
  execution?: Execution,
  as: 'program' | 'partner' = 'program',
): Buffer {
  const bytes = Buffer.from(program)
  const numbers = [
    limits.cpuMs,
    wallLimitMs(limits),
    limits.memoryMB,
    limits.outputBytes,
    limits.processes,
    limits.fileMB,
    execution === undefined || execution.native ? 2 * limits.memoryMB + SPARE_ADDRESS_MB : 0,
  ]
  const words = execution ? [execution.file, ...execution.argv] : []
  return Buffer.concat([
    Buffer.from(as === 'program' ? 'P' : 'Q'),
    ...[...numbers.map(Math.ceil), words.length].map(u32),
    ...words.map(text16),
    u32(bytes.length),
    bytes,
  ])
}

export const encodeTest = (index: number, stdin: string): Buffer => encodeRun('T', index, stdin)

/** @param first text that the partner reads before the program's output */
export const encodeConversation = (index: number, first: string): Buffer => encodeRun('C', index, first)

function encodeRun(frame: string, index: number, text: string): Buffer {
  const bytes = Buffer.from(text)
  return Buffer.concat([Buffer.from(frame), u32(index), u32(bytes.length), bytes])
}

function u32(number: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(number)
  return bytes
}

function text16(text: string): Buffer {
  const bytes = Buffer.from(text)
  const size = Buffer.alloc(2)
  size.writeUInt16BE(bytes.length)
  return Buffer.concat([size, bytes])
}

/** The runner's observation of one test. */
export type RunnerReport = {
  readonly index: number
  /** S: the program was started. C: its text does not compile. -: the child ended before that. */
  readonly started: string
  /** Why the runner ended it: c CPU, w wall, m memory, o output. - if it ended by itself. */
  readonly ended: string
  readonly exitCode: number
  readonly signal: number
  readonly cpuUs: number
  readonly wallUs: number
  readonly peakKB: number
  readonly stdout: Buffer
  readonly stderrTail: Buffer
}

const READY = 'R'.charCodeAt(0)
const HEAD_BYTES = 4 + 2 + 8 + 24 + 8

/** Reads chunks of the result channel. Calls `onReady` once and `onReport` for each test. */
export function createReportReader(onReady: () => void, onReport: (report: RunnerReport) => void) {
  let ready = false
  let chunks: Buffer[] = []
  let size = 0
  let needed = 1
  return function read(chunk: Buffer): void {
    chunks.push(chunk)
    size += chunk.length
    if (size < needed) return
    let buffer = Buffer.concat(chunks, size)
    if (!ready) {
      if (buffer[0] !== READY) throw new Error('the runner does not speak its protocol')
      ready = true
      buffer = buffer.subarray(1)
      onReady()
    }
    for (;;) {
      needed = HEAD_BYTES
      if (buffer.length < needed) break
      const stdoutBytes = buffer.readUInt32BE(HEAD_BYTES - 8)
      needed += stdoutBytes + buffer.readUInt32BE(HEAD_BYTES - 4)
      if (buffer.length < needed) break
      onReport({
        index: buffer.readUInt32BE(0),
        started: buffer.toString('latin1', 4, 5),
        ended: buffer.toString('latin1', 5, 6),
        exitCode: buffer.readInt32BE(6),
        signal: buffer.readInt32BE(10),
        cpuUs: Number(buffer.readBigUInt64BE(14)),
        wallUs: Number(buffer.readBigUInt64BE(22)),
        peakKB: Number(buffer.readBigUInt64BE(30)),
        stdout: buffer.subarray(HEAD_BYTES, HEAD_BYTES + stdoutBytes),
        stderrTail: buffer.subarray(HEAD_BYTES + stdoutBytes, needed),
      })
      buffer = buffer.subarray(needed)
    }
    chunks = [buffer]
    size = buffer.length
  }
}

const SIGKILL = 9
const SIGXCPU = 24

/**
 * Returns the verdict on a report. `oomKilled` tells that the kernel ended a process of this test for its
 * memory.
 */
function verdictOf(report: RunnerReport, limits: Limits, oomKilled: boolean): Verdict {
  const { started, ended, exitCode, signal } = report
  if (ended === 'o') return 'output_limit'
  if (ended === 'm' || oomKilled) return 'memory'
  if (ended === 'c' || ended === 'w' || signal === SIGXCPU) return 'timeout'
  if (signal === SIGKILL && report.cpuUs >= limits.cpuMs * 1000) return 'timeout'
  if (started !== 'S') return 'compile_error'
  if (exitCode === 0) return 'ok'
  return isMemoryError(report.stderrTail.toString()) ? 'memory' : 'runtime_error'
}

/**
 * Whether the last line of a traceback says MemoryError. A failing program may print the same. Both verdicts
 * fail.
 */
export const isMemoryError = (stderrTail: string) => /(^|\n)MemoryError[^\n]*\n?$/.test(stderrTail)

export function resultOf(report: RunnerReport, limits: Limits, oomKilled: boolean): RunResult {
  const { exitCode, signal } = report
  return {
    verdict: verdictOf(report, limits, oomKilled),
    stdout: report.stdout.toString(),
    stderrTail: report.stderrTail.toString(),
    exitCode: exitCode < 0 ? null : exitCode,
    signal: signal === 0 ? null : signal,
    cpuMs: report.cpuUs / 1000,
    wallMs: report.wallUs / 1000,
    peakKB: report.peakKB,
    truncated: report.ended === 'o',
  }
}
