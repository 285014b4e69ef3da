/** Step labels from true progress: what the reward model is started on, and measured against. */
import { rng, type Seed, seedOf } from '../random.ts'
import type { Label } from './judge-quality.ts'

/** A step is good when it is worth more than half of the best possible step, whose progress is 1. */
const GOOD_PROGRESS = 0.5

export function progressLabel(progress: number, threshold = GOOD_PROGRESS): Label {
  return progress > threshold ? 1 : -1
}

/**
 * Labels of one trajectory's steps, each turned round with probability `flipShare`. A step's flip depends on the seed, the
 * trajectory and its index alone.
 */
export function noisyLabels(
  progress: ArrayLike<number>,
  {
    id,
    seed,
    flipShare,
    threshold = GOOD_PROGRESS,
  }: { id: string; seed: Seed; flipShare: number; threshold?: number },
): Label[] {
  return Array.from(progress, (value, step) => {
    const label = progressLabel(value, threshold)
    const flipped = rng(seedOf(seed, 'flip', id, step)).uniform() < flipShare
    return flipped ? (-label as Label) : label
  })
}
