import { itemAt } from '../../item-at.ts'
import type { LossOptions, TrainingSample } from '../port.ts'
import { countTrained } from './loss.ts'

/**
 * Picks the tokens to train on if only a share is trained: those with the highest entropy. The bound is the interpolated quantile of
 * all entropies (as torch.quantile).
 */
export async function chosenTokens(
  samples: readonly TrainingSample[],
  loss: LossOptions,
  entropiesOf: (samples: readonly TrainingSample[]) => Promise<Float32Array[]>,
): Promise<{ readonly marks: readonly Uint8Array[]; readonly count: number } | undefined> {
  const share = loss.kind === 'policy' ? (loss.entropyShare ?? 1) : 1
  if (share >= 1) return undefined
  const entropies = await entropiesOf(samples)
  const all = samples.flatMap(({ mask }, i) => [...itemAt(entropies, i).filter((_, t) => mask[t])])
  const bound = quantile(Float64Array.from(all).sort(), 1 - share)
  const marks = samples.map(({ mask }, i) => {
    const own = itemAt(entropies, i)
    return mask.map((bit, t) => (bit && own[t]! >= bound ? 1 : 0))
  })
  return { marks, count: marks.reduce((sum, mark) => sum + countTrained({ mask: mark }), 0) }
}

/** Returns a quantile of sorted values, interpolated linearly. */
function quantile(sorted: Float64Array, share: number): number {
  const place = share * (sorted.length - 1)
  const [low, high] = [itemAt(sorted, Math.floor(place)), itemAt(sorted, Math.ceil(place))]
  return low + (place - Math.floor(place)) * (high - low)
}
