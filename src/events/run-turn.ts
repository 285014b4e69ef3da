/** State of a run by its log only. The log does not tell if the head lives. */
import type { LogReader } from './log-reader.ts'

export type RunTurn = {
  /**
   * `begun`: the log has no end and no pause. `stopped`: a person ended its head. `held`: a person paused it, and its head waits
   * for the word to go on.
   */
  readonly kind: 'never started' | 'begun' | 'paused' | 'held' | 'stopped' | 'failed' | 'completed'
  /** Why it is paused or failed. */
  readonly reason: string | null
  /** Since when it is so (ms since 1970). Null if it never started or is complete. */
  readonly since: number | null
}

/** The reason of a pause with which a person ended the head. */
export const BY_A_PERSON = 'interrupted by a person'

const HELD = 'paused by a person'

/** Returns the reason of a pause that a person asked of the running head. */
export function heldFor(reason: string | null): string {
  return reason === null ? HELD : `${HELD}: ${reason}`
}

const LIFTED = 'resumed by a person'

/** Returns the reason of RunResumed if a person asked the running head for it. */
export function liftedFor(reason: string | null): string {
  return reason === null ? LIFTED : `${LIFTED}: ${reason}`
}

export function isLifted(reason: string): boolean {
  return reason === LIFTED || reason.startsWith(`${LIFTED}: `)
}

/** Returns whether a pause with this reason leaves its head running, until a person resumes the run. */
export function isHeld(reason: string): boolean {
  return reason === HELD || reason.startsWith(`${HELD}: `)
}

const TURNS = ['RunStarted', 'RunPaused', 'RunResumed', 'RunFailed'] as const

export function turnOf(log: LogReader): RunTurn {
  // A run that is over stays over. Earlier versions appended to such runs.
  if (log.positionOf('key', 'RunCompleted') !== null) return { kind: 'completed', reason: null, since: null }
  const turn = log.newest(TURNS)
  // A head that takes a run writes down its epoch, in the run's own log.
  if (turn === null || (log.parent !== null && log.meta('epoch') === null))
    return { kind: 'never started', reason: null, since: null }
  const since = turn.time
  switch (turn.type) {
    case 'RunFailed':
      return { kind: 'failed', reason: turn.data.reason, since }
    case 'RunPaused': {
      const { reason } = turn.data
      if (isHeld(reason)) return { kind: 'held', reason, since }
      return { kind: reason === BY_A_PERSON ? 'stopped' : 'paused', reason, since }
    }
    default:
      return { kind: 'begun', reason: null, since }
  }
}
