import type { GroupOptions } from './rules.ts'
import { worthOf } from './standardise.ts'
import type { RewardedRollout } from './terms.ts'

/**
 * Returns the discounted return of each step. The outcome is paid once, at the end:
 * Q_t = g^(T-1-t) w_o O + w_s (sum over j >= t of g^(j-t) S_j).
 *
 * @param gamma g, in [0, 1]
 * @param cuts [steps] true at steps whose action was replaced: what follows pays neither them nor the steps before (UI-S1, code)
 * @returns [steps]
 */
export function returnsOf(
  rollout: RewardedRollout,
  { weights }: Pick<GroupOptions, 'weights'>,
  gamma: number,
  cuts: readonly boolean[] = [],
): Float64Array {
  const own = Float64Array.from(rollout.scores, (score) => weights.step * score)
  let after = 0
  for (let t = own.length - 1; t >= 0; t--) {
    const paid = t === own.length - 1 ? weights.outcome * worthOf(rollout) : 0
    const cut = cuts[t] === true
    const value = cut ? (own[t] ?? 0) : (own[t] ?? 0) + paid + gamma * after
    own[t] = value
    after = cut ? 0 : value
  }
  return own
}

/** Returns the return of a whole rollout without discount, w_o O + w_s (sum of S). A rollout without steps has its outcome. */
export function episodeReturn(rollout: RewardedRollout, options: Pick<GroupOptions, 'weights'>): number {
  return returnsOf(rollout, options, 1)[0] ?? options.weights.outcome * worthOf(rollout)
}
