/** The time that a run has taken, by the times of its events. Pauses and the time without a head do not count. */

export type RunClock = {
  /** Time that counted until the newest event. */
  activeMs: number
  /** Time of the newest event, ms since 1970. It is 0 before the first. */
  seenMs: number
  /** The time that counted before the first measurement, and before training. */
  measuringFromMs: number | null
  trainingFromMs: number | null
}

export function newClock(): RunClock {
  return { activeMs: 0, seenMs: 0, measuringFromMs: null, trainingFromMs: null }
}

/** Enters the time of an event. Clocks that were set back add nothing. */
export function tick(clock: RunClock, time: number): void {
  if (clock.seenMs > 0) clock.activeMs += Math.max(0, time - clock.seenMs)
  clock.seenMs = time
}

/** Leaves out the time until an event: nothing ran. */
export function skip(clock: RunClock, time: number): void {
  clock.seenMs = time
}

/** Enters that an iteration begins. Iteration 0 is the first measurement. */
export function beginIteration(clock: RunClock, iteration: number): void {
  if (iteration === 0) clock.measuringFromMs ??= clock.activeMs
  else clock.trainingFromMs ??= clock.activeMs
}

/**
 * Returns true if the iteration that begins now is the last one for which there is time. A further one and the last
 * measurement would not fit in. The last measurement is assumed to take as long as
 * the first one.
 *
 * @param completed number of completed iterations
 * @param minutes time of the whole run; without it there is no end
 */
export function timeEnds(clock: RunClock, completed: number, minutes: number | undefined): boolean {
  if (minutes === undefined) return false
  const { activeMs, measuringFromMs, trainingFromMs } = clock
  const beganMs = trainingFromMs ?? activeMs
  const measurementMs = beganMs - (measuringFromMs ?? beganMs)
  const iterationMs = completed > 0 ? (activeMs - beganMs) / completed : 0
  return activeMs + 2 * iterationMs + measurementMs > minutes * 60_000
}
