/** Work that a process did in the last minute or so, from its count since its start. */

type Sample = { readonly done: number; readonly at: number }
/** The newest sample becomes the start of the rate when it is half a minute old. */
export type WorkRate = { readonly from: Sample; readonly next: Sample }

const SAMPLE_MS = 30_000
const LEAST_MS = 5_000

/** Takes a count at a time in ms. */
export function rateAfter(before: WorkRate | undefined, done: number, at: number): WorkRate {
  const sample = { done, at }
  if (before === undefined) return { from: sample, next: sample }
  return at - before.next.at < SAMPLE_MS ? before : { from: before.next, next: sample }
}

/** Returns pieces of work a minute. Null if it is too early to tell. */
export function perMinuteOf({ from }: WorkRate, done: number, at: number): number | null {
  if (at - from.at < LEAST_MS) return null
  return Math.round(((done - from.done) / (at - from.at)) * 600_000) / 10
}
