/** Playing a rollout back: how many steps a tick goes on, and how long it waits. */

/** Steps a second at a speed of 1. */
export const SPEEDS = [0.5, 1, 2, 4, 8, 16, 32] as const

/** Browsers slow a page down if its address changes more often. */
const LEAST_MS = 160

/**
 * Returns the time between two ticks, and the number of steps of one. A speed of 1 is one step a second.
 * @example paceOf(32) // { everyMs: 160, steps: 5 }
 */
export function paceOf(speed: number): { readonly everyMs: number; readonly steps: number } {
  const everyMs = Math.max(LEAST_MS, 1000 / speed)
  return { everyMs, steps: Math.max(1, Math.round((speed * everyMs) / 1000)) }
}

/** Returns the class of a log-prob's shade, 0 for a sure token to 4 for an unlikely one. */
export function shadeOf(logprob: number): number {
  const share = Math.exp(logprob)
  return share >= 0.9 ? 0 : share >= 0.5 ? 1 : share >= 0.2 ? 2 : share >= 0.05 ? 3 : 4
}
