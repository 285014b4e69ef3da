/** Pause that a person asked of the running head. It lasts until a person lifts it, or until the head is started again. */
import type { Clock } from '../../clock.ts'
import type { NewEvent } from '../../events/catalogue.ts'

type Pause = { readonly since: number; readonly reason: string }

export type PersonPause = {
  /** The pause, `since` in ms since 1970. Null if no person has paused the run. */
  readonly now: () => Pause | null
  /** The event that tells the pause, or null. */
  readonly event: () => NewEvent | null
  /** When a person resumed the run last (ms since 1970), or 0. */
  readonly resumedAt: () => number
  /** Appends the pause, and throws if the log does not take it. */
  readonly pause: (reason: string) => void
  readonly resume: (reason: string) => void
}

export type PersonPauseOptions = {
  /** Throws if the disk takes nothing. */
  readonly append: (event: NewEvent) => void
  readonly onChange: () => void
  readonly clock: Clock
}

export function openPersonPause({ append, onChange, clock }: PersonPauseOptions): PersonPause {
  let paused: Pause | null = null
  let resumedAt = 0
  return {
    now: () => paused,
    event: () => paused && { type: 'RunPaused', data: { reason: paused.reason } },
    resumedAt: () => resumedAt,
    pause(reason) {
      append({ type: 'RunPaused', data: { reason } })
      paused = { since: clock.now(), reason }
      onChange()
    },
    resume(reason) {
      append({ type: 'RunResumed', data: { reason } })
      paused = null
      resumedAt = clock.now()
      onChange()
    },
  }
}
