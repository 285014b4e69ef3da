/**
 * The port through which untrusted programs are run. It reports what happened. The comparator judges whether
 * it is right.
 */
import type { RunResult } from './run-result.ts'

export type Limits = {
  /** CPU time of all processes of a run together: the first limit, so that a busy machine changes no verdict. */
  readonly cpuMs: number
  /** Elapsed time. Default: 3 x cpuMs + 1,000. */
  readonly wallMs?: number
  /**
   * Resident memory of all processes of a run together, in MiB. The stacks of their main threads may use as
   * much again.
   */
  readonly memoryMB: number
  readonly outputBytes: number
  /** Processes and threads at once. */
  readonly processes: number
  /** Largest file, and the size of the scratch folder, in MiB. */
  readonly fileMB: number
}

export const DEFAULT_LIMITS: Limits = {
  cpuMs: 4000,
  memoryMB: 512,
  outputBytes: 1 << 20,
  processes: 64,
  fileMB: 16,
}

/** Returns the language by the ending of a program's file. Python is the default. */
export function languageOf(file: string): Language {
  if (/\.[cm]?js$/.test(file)) return 'javascript'
  return /\.(cpp|cc|cxx)$/.test(file) ? 'cpp' : 'python'
}

export const wallLimitMs = (limits: Limits) => limits.wallMs ?? 3 * limits.cpuMs + 1000

export const LANGUAGES = ['python', 'javascript', 'cpp'] as const
export type Language = (typeof LANGUAGES)[number]

/** One program with all its tests, given as their standard inputs. */
export type ProgramRun = {
  /** Source text. */
  readonly program: string
  /** Default Python. */
  readonly language?: Language
  readonly stdins: readonly string[]
  readonly limits: Limits
  /**
   * Python that the program talks with (interaction.ts). It reads each of `stdins` and then the program's
   * output.
   */
  readonly interactor?: string
}

/**
 * One way to run programs. `run` reports each test as it ends. A test that it cannot report is a sandbox
 * error.
 */
export interface Provider {
  readonly name: string
  /** Details for people: the interpreter, and which limits hold. */
  readonly detail: string
  /** Changes when the same program may give other results: a part of the cache's key. */
  readonly semantics: string
  /** Number of programs that it runs at a time. */
  readonly concurrency: number
  /** Default Python alone. */
  readonly languages?: readonly Language[]
  /** Whether it can have two programs talk with each other. */
  readonly interactive?: boolean
  /** Rejects with an RlError if the sandbox itself fails. Tests that were reported before that stay valid. */
  run(job: ProgramRun, report: (test: number, result: RunResult) => void, signal?: AbortSignal): Promise<void>
  /**
   * Counts what ended programs still occupy on this machine, without the sandboxes' own use. It should be
   * nothing.
   */
  leftBehind?(): LeftBehind
  close(): Promise<void>
}

export type LeftBehind = {
  readonly processes: number
  readonly files: number
  readonly keys: number
  readonly memoryKB: number
}
