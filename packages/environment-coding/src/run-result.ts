/** What became of one program on one test. */

/**
 * What became of one run.
 * - `ok`: ended by itself with exit code 0.
 * - `runtime_error`: ended by an exception, another exit code or a signal, or ended its sandbox again and again.
 * - `timeout`: reached its CPU limit (all its processes together), or the wall limit that stands behind it.
 * - `memory`: reached its memory limit.
 * - `output_limit`: wrote more than it may; what it wrote is cut.
 * - `compile_error`: the text is not a program; nothing was run.
 * - `invalid`: not run because there is nothing to run: an empty or oversized program, a test that is none.
 * - `sandbox_error`: the sandbox failed, and a known-good program with it; or the program's judge did. Tried again; never a reward.
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
  /** The last 4 kB of standard error; for `sandbox_error` and `invalid`, the reason. */
  readonly stderrTail: string
  /** Null where a signal or a limit ended it. */
  readonly exitCode: number | null
  readonly signal: number | null
  readonly cpuMs: number
  readonly wallMs: number
  readonly peakKB: number
  readonly truncated: boolean
  /** What the interactor of a conversation found. */
  readonly interaction?: {
    readonly accepted: boolean
    /** It did not come to a judgement. */
    readonly failed?: true
    /** Why, for people: the end of what it wrote on standard error. */
    readonly reason: string
  }
  /** Run again it ended otherwise, or printed something else. */
  readonly flaky?: true
}
