/** Rollouts of one task side by side, and the step at which they part. */

/**
 * Returns the first step at which two rollouts act differently, or at which one has ended. Returns null if they are the same.
 * @example partingStep(['go', 'take'], ['go', 'look']) // 1
 */
export function partingStep(first: readonly string[], second: readonly string[]): number | null {
  const most = Math.max(first.length, second.length)
  for (let step = 0; step < most; step++) if (first[step] !== second[step]) return step
  return null
}

/** Returns the first step at which not all of them act the same. Returns null if none parts. */
export function firstParting(rollouts: readonly (readonly string[])[]): number | null {
  const [first = [], ...others] = rollouts
  const steps = others.flatMap((one) => partingStep(first, one) ?? [])
  return steps.length === 0 ? null : Math.min(...steps)
}
