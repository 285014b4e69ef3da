export type Schedule = {
  readonly kind: 'constant' | 'linear' | 'cosine'
  /** Steps over which the rate rises from 0. */
  readonly warmup: number
  /** Steps in all; where `linear` and `cosine` arrive at `floor`. */
  readonly total: number
  /** Least rate as a share of the peak. */
  readonly floor: number
}

/** The learning rate of step 0, 1, ...: linear warm-up, then constant, linear or half-cosine decay to `floor` of the peak. */
export function learningRate(peak: number, { kind, warmup, total, floor }: Schedule, step: number): number {
  if (step < warmup) return (peak * (step + 1)) / warmup
  if (kind === 'constant') return peak
  const progress = Math.min(1, (step - warmup) / Math.max(1, total - warmup))
  const share = kind === 'linear' ? 1 - progress : (1 + Math.cos(Math.PI * progress)) / 2
  return peak * (floor + (1 - floor) * share)
}
