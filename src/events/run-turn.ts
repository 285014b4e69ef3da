/** State of a run by its log only. The log does not tell if the head lives. */
import type { LogReader } from './log-reader.ts'

export type RunTurn = {
  /** `begun`: the log has no end and no pause. `stopped`: a person paused it. */
  readonly kind: 'never started' | 'begun' | 'paused' | 'stopped' | 'failed' | 'completed'
  /** Why it is paused or failed. */
  readonly reason: string | null
}

/** The reason of a pause that a person asked for. */
export const BY_A_PERSON = 'interrupted by a person'

const TURNS = ['RunStarted', 'RunPaused', 'RunResumed', 'RunFailed'] as const

export function turnOf(log: LogReader): RunTurn {
  // A run that is over stays over. Earlier versions appended to such runs.
  if (log.positionOf('key', 'RunCompleted') !== null) return { kind: 'completed', reason: null }
  const turn = log.newest(TURNS)
  // A head that takes a run writes down its epoch, in the run's own log.
  if (turn === null || (log.parent !== null && log.meta('epoch') === null))
    return { kind: 'never started', reason: null }
  switch (turn.type) {
    case 'RunFailed':
      return { kind: 'failed', reason: turn.data.reason }
    case 'RunPaused': {
      const { reason } = turn.data
      return { kind: reason === BY_A_PERSON ? 'stopped' : 'paused', reason }
    }
    default:
      return { kind: 'begun', reason: null }
  }
}
