/** Limits how often, and says when, a process of the head may be started again. */
import { RlError } from '../../errors.ts'

/** Shorter lives count as a failed start. */
const START_MS = 10_000
const START_FAILURES = 4
/** Highest number of faults with which a role may end within an hour. Each restart pays again for unfinished work. */
const RESTARTS_AN_HOUR = 20
const HOUR_MS = 3_600_000

export type ProcessEnd = {
  readonly livedMs: number
  /** True if it ended by a fault of its own. A signal comes from outside. */
  readonly isFault: boolean
  /** Somebody killed it: that says nothing of whether it can start. */
  readonly isKilled: boolean
  /** The last that it said. */
  readonly lastLine: string
}

/**
 * Takes the ends of one role's processes, one after another. Returns the time (ms) after which the next process starts.
 * Errors: `head.role-fails` if it ends again and again right after its start, `head.restarts-spent`.
 */
export function openRestartBudget(
  name: string,
  logFile: string,
  now: () => number = () => performance.now(),
) {
  const faults: number[] = []
  let failures = 0
  return function waitAfter({ livedMs, isFault, isKilled, lastLine }: ProcessEnd): number {
    const spent = (message: string, code: string) =>
      new RlError(`${name} ${message}: ${lastLine}`, { code, hint: `see ${logFile}` })
    if (isFault) faults.push(now())
    while (now() - (faults[0] ?? Infinity) > HOUR_MS) faults.shift()
    if (faults.length > RESTARTS_AN_HOUR)
      throw spent(`ended ${faults.length} times within an hour`, 'head.restarts-spent')
    const failed = !isKilled && livedMs < START_MS
    failures = failed ? failures + 1 : 0
    if (failures >= START_FAILURES) throw spent('does not start', 'head.role-fails')
    return failed ? 250 * 2 ** (failures - 1) : 50
  }
}
