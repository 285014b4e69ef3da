/** Returns ticks for an axis of counts: at most about ten whole numbers, from 0 to the last. */
export function wholeTicks(last: number): number[] {
  const step = Math.ceil(Math.max(1, last) / 10)
  return Array.from({ length: Math.floor(Math.max(1, last) / step) + 1 }, (_, index) => index * step)
}
