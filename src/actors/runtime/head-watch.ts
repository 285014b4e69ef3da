/**
 * Listens for the head. A process that never hears of one ends with an error. One that has heard of it waits for as long as it is
 * away: it says so, and goes on when a head is back. It ends when the run is over.
 */
import type { Clock } from '../../clock.ts'
import type { RlError } from '../../errors.ts'
import { readHeadSays } from '../../events/head-says.ts'
import { headGone } from './head-gone.ts'

/** Options of a process that no head started. The others hear by their pipe how the head does. */
export type Elsewhere = {
  /** Tells a person one line: that the head is away or back, or that the run is over. */
  readonly say: (line: string) => void
  /** Absence of the head from which on it is told. For tests. */
  readonly awayMs?: number
}

export type HeadWatch = {
  /** Takes an announcement of the head. */
  readonly hear: (body: Uint8Array) => void
  /** Looks how long the head has been silent. Called every `everyMs`. */
  readonly look: () => void
}

export type HeadWatchOptions = {
  readonly run: string
  readonly elsewhere: Elsewhere | undefined
  /** Time until the first sign of a head. */
  readonly firstMs: number
  readonly everyMs: number
  /** Newest epoch of the answers of heads. */
  readonly epoch: () => number
  /** Returns why the head cannot be heard, if that is known. */
  readonly obstacle: () => string | null
  /** Whether the broker holds the mark that the run is over. */
  readonly isOver: () => Promise<boolean>
  readonly fail: (error: RlError) => void
  readonly end: () => void
  readonly clock: Clock
}

/** A head that is started again needs 4 to 9 seconds. */
const AWAY_MS = 10_000
const TOLD_AGAIN_MS = 600_000

export function openHeadWatch(options: HeadWatchOptions): HeadWatch {
  const { run, elsewhere, firstMs, everyMs, epoch, obstacle, isOver, fail, end, clock } = options
  const awayMs = elsewhere?.awayMs ?? AWAY_MS
  let isSeen = false
  let seenAt = clock.monotonic()
  let lookedAt = seenAt
  /** Since when it was told last that the head is away, or null. */
  let toldAt: number | null = null
  let askedAt = seenAt
  let isEnded = false

  function endWithRun(): void {
    if (isEnded || !elsewhere) return
    isEnded = true
    elsewhere.say(`run '${run}' is over: this process ends`)
    end()
  }

  /** A run that is over gets no head any more. */
  async function askIfOver(now: number): Promise<void> {
    if (obstacle() !== null || now - askedAt < awayMs) return
    askedAt = now
    // A broker without an answer, or one that refuses this, tells nothing: it is asked again.
    if (await isOver().catch(() => false)) endWithRun()
  }

  function tellAbsence(now: number): void {
    const silentMs = now - seenAt
    if (silentMs < awayMs) return
    void askIfOver(now)
    if (toldAt !== null && now - toldAt < TOLD_AGAIN_MS) return
    toldAt = now
    const why = obstacle() ?? 'it says nothing'
    elsewhere?.say(
      `the head of run '${run}' has been away for ${seconds(silentMs)} s (${why}): this process goes on when a head is back; Ctrl-C ends it`,
    )
  }

  function tellReturn(now: number): void {
    if (toldAt === null) return
    toldAt = null
    elsewhere?.say(`the head of run '${run}' is back after ${seconds(now - seenAt)} s`)
  }

  return {
    hear(body) {
      const now = clock.monotonic()
      tellReturn(now)
      isSeen = true
      seenAt = now
      try {
        const said = readHeadSays(body)
        if (said.over === true && (said.epoch ?? 0) >= epoch()) endWithRun()
      } catch {
        // Announcements are lossy: the next one tells.
      }
    },
    look() {
      const now = clock.monotonic()
      // Time in which this process itself stood still is no silence of the head.
      const lateMs = now - lookedAt - everyMs
      if (lateMs > everyMs) seenAt += lateMs
      lookedAt = now
      if (isEnded) return
      // The first answer of a head counts as an announcement.
      isSeen ||= epoch() > 0
      if (isSeen) {
        if (elsewhere) tellAbsence(now)
      } else if (now - seenAt > firstMs) fail(headGone(run, firstMs))
    },
  }
}

const seconds = (ms: number) => Math.round(ms / 1000)
