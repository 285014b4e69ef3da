/** Importance weights of samples that other weights sampled, as figures of an update. */
import { itemAt } from '../../item-at.ts'
import type { Mismatch, SampleWeights } from '../port.ts'
import type { UpdateSample } from './gradients.ts'
import { LOG_RATIO_LIMIT } from './loss.ts'

/** Returns the sums of each sample's weights. The samples have their log-probs at the start of the update. */
export function sampleWeights(
  samples: readonly UpdateSample[],
  { level, limit }: Mismatch,
): readonly SampleWeights[] {
  return samples.map(({ id, mask, logprobs, startedLogprobs = logprobs }) => {
    const logs: number[] = []
    for (const [t, trained] of mask.entries())
      if (trained === 1) logs.push(itemAt(startedLogprobs, t) - itemAt(logprobs, t))
    const weights = (level === 'token' ? logs : spread(logs)).map(weightOf)
    return {
      id,
      tokens: weights.length,
      sum: weights.reduce((sum, weight) => sum + weight, 0),
      squares: weights.reduce((sum, weight) => sum + weight * weight, 0),
      most: weights.reduce((most, weight) => Math.max(most, weight), 0),
      cut: limit === null ? 0 : weights.filter((weight) => weight > limit).length,
    }
  })
}

/** Each token has the weight of its whole sample. */
function spread(logs: readonly number[]): number[] {
  const whole = logs.reduce((sum, log) => sum + log, 0)
  return logs.map(() => whole)
}

function weightOf(log: number): number {
  return Math.exp(Math.min(LOG_RATIO_LIMIT, Math.max(-LOG_RATIO_LIMIT, log)))
}
