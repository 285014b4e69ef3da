/** Step labels from true progress. The reward model starts on them and is measured against them. */
import { rng, type Seed, seedOf } from '../random.ts'
import type { Label } from './judge-quality.ts'

/** A step is good if it is worth more than half of the best possible step, whose progress is 1. */
const GOOD_PROGRESS = 0.5

export function progressLabel(progress: number, threshold = GOOD_PROGRESS): Label {
  return progress > threshold ? 1 : -1
}

/**
 * Returns the labels of one trajectory's steps. Each is flipped with probability `flipShare`. A flip depends only on the seed, the
 * trajectory and the step's index.
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
