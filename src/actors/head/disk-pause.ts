/** Pauses the run if the disk is nearly full, and lets it go on later. Both are events of the log if the disk takes them. */
import type { Clock } from '../../clock.ts'
import { explain, type RlError } from '../../errors.ts'
import type { NewEvent } from '../../events/catalogue.ts'

export type DiskPause = {
  /** Since when the run is paused (ms since 1970), or null. */
  readonly since: () => number | null
  readonly pause: (reason: RlError) => void
  /** Tries to append that the run goes on. If the disk still takes nothing, the run stays paused. */
  readonly resume: () => void
}

const GOES_ON: NewEvent = { type: 'RunResumed', data: { reason: 'the disk takes events again' } }

/**
 * @param append throws if the disk takes nothing; `urgent` events may use the reserve
 * @param personsPause returns the pause of a person, or null. If there is one, the run stays paused for its reason.
 */
export function openDiskPause(
  append: (events: readonly NewEvent[], options: { readonly urgent: boolean }) => void,
  clock: Clock,
  personsPause: () => NewEvent | null = () => null,
): DiskPause {
  let pausedSince: number | null = null
  /** Pause that the log does not have yet, because the disk took not even that event. */
  let untold: NewEvent | null = null

  function pause(reason: RlError): void {
    if (pausedSince !== null) return
    pausedSince = clock.now()
    untold = { type: 'RunPaused', data: { reason: explain(reason) } }
    try {
      append([untold], { urgent: true })
      untold = null
    } catch {
      // Not even the reserve is left. `log.head` and `rl status` tell the pause, and the log tells it when the run goes
      // on.
    }
  }

  function resume(): void {
    if (pausedSince === null) return
    try {
      const next = personsPause() ?? GOES_ON
      append(untold === null ? [next] : [untold, next], { urgent: false })
      pausedSince = null
      untold = null
    } catch {
      // The disk still takes nothing. The next tick tries again.
    }
  }

  return { since: () => pausedSince, pause, resume }
}
