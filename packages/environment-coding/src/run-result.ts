/** Result of one program at one test. */

/**
 * How one run ended.
 * - `ok`: ended by itself with exit code 0.
 * - `runtime_error`: ended by an exception, another exit code or a signal, or ended its sandbox again and
 *   again.
 * - `timeout`: reached its CPU limit (all its processes together), or the wall limit beyond it.
 * - `memory`: reached its memory limit.
 * - `output_limit`: wrote too much. Its output is cut.
 * - `compile_error`: the text is not a program, so nothing was run.
 * - `invalid`: not run, because the program is empty or too large, or the test is none.
 * - `sandbox_error`: the sandbox failed, and a known-good program with it, or the program's judge failed.
 *   Such a run is tried again, and never a reward.
 */
export type Verdict =
  | 'ok'
  | 'runtime_error'
  | 'timeout'
  | 'memory'
  | 'output_limit'
  | 'compile_error'
  | 'invalid'
  | 'sandbox_error'

export type RunResult = {
  readonly verdict: Verdict
  /** At most `outputBytes` of standard output, decoded as UTF-8. */
  readonly stdout: string
  /** The last 4 kB of standard error. For `sandbox_error` and `invalid`, the reason. */
  readonly stderrTail: string
  /** Null if a signal or a limit ended it. */
  readonly exitCode: number | null
  readonly signal: number | null
  readonly cpuMs: number
  readonly wallMs: number
  readonly peakKB: number
  readonly truncated: boolean
  /** Judgement of the interactor of a conversation. */
  readonly interaction?: {
    readonly accepted: boolean
    /** The interactor did not come to a judgement. */
    readonly failed?: true
    /** Reason for people: the end of the interactor's standard error. */
    readonly reason: string
  }
  /** A second run ended in another way, or printed something else. */
  readonly flaky?: true
}
