/** How often a process of the head's may be started again, and when. */
import { RlError } from '../../errors.ts'

/** A process that lived for less counts as one that could not start. */
const START_MS = 10_000
const START_FAILURES = 4
/** How often a role may end by a fault of its own within an hour: each time it pays again for what it had not finished. */
const RESTARTS_AN_HOUR = 20
const HOUR_MS = 3_600_000

export type ProcessEnd = {
  readonly livedMs: number
  /** It ended by a fault of its own; a signal comes from outside. */
  readonly isFault: boolean
  /** Somebody killed it: that says nothing of whether it can start. */
  readonly isKilled: boolean
  /** The last that it said. */
  readonly lastLine: string
}

/**
 * Takes the ends of one role's processes, one after another; returns after how long (ms) the next is to be started.
 * Errors: `head.role-fails` where it ends again and again as soon as it is started, `head.restarts-spent`.
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
    while (faults.length > 0 && now() - faults[0] > HOUR_MS) faults.shift()
    if (faults.length > RESTARTS_AN_HOUR)
      throw spent(`ended ${faults.length} times within an hour`, 'head.restarts-spent')
    const failed = !isKilled && livedMs < START_MS
    failures = failed ? failures + 1 : 0
    if (failures >= START_FAILURES) throw spent('does not start', 'head.role-fails')
    return failed ? 250 * 2 ** (failures - 1) : 50
  }
}
