export type Schedule = {
  readonly kind: 'constant' | 'linear' | 'cosine'
  /** Number of steps over which the rate rises from 0. */
  readonly warmup: number
  /** Number of steps in all. At the last one `linear` and `cosine` reach `floor`. */
  readonly total: number
  /** Smallest rate, as a share of the peak. */
  readonly floor: number
}

/** Returns the learning rate of step 0, 1, ...: linear warm-up, then constant, linear or half-cosine decay to `floor` of the peak. */
export function learningRate(peak: number, { kind, warmup, total, floor }: Schedule, step: number): number {
  if (step < warmup) return (peak * (step + 1)) / warmup
  if (kind === 'constant') return peak
  const progress = Math.min(1, (step - warmup) / Math.max(1, total - warmup))
  const share = kind === 'linear' ? 1 - progress : (1 + Math.cos(Math.PI * progress)) / 2
  return peak * (floor + (1 - floor) * share)
}
