/** Corrections for trajectories that another policy played: their tokens were not sampled from this one. */
import { moments } from './moments.ts'

export type OutsideRule = 'rl-plus' | 'a-lol'

/** Advantage of a trajectory, and log-probs that stand for those of sampling, [tokens]. */
export type Corrected = { readonly advantages: Float32Array; readonly logprobs: Float32Array }

/**
 * Returns advantage and ratio of RL-PLUS (2508.00222, code). The ratio is 2 pi / (pi_old + om) with om = (pi_old + 1) / 2, so the
 * likeliness of the unknown policy lies between ours and 1. A token counts by A (1 - pi_old)^0.5: what the policy would not do counts
 * more. `A` is the z-score of the outcome among those of the group and its own.
 *
 * @param logprobs [tokens] under the weights when the update begins
 * @param value outcome in [0, 1]
 * @param group outcomes in [0, 1] of the group's own rollouts
 */
export function rlPlus(logprobs: ArrayLike<number>, value: number, group: readonly number[]): Corrected {
  const { mean, deviation } = moments([...group, value])
  const advantage = deviation > 0 ? (value - mean) / deviation : 0
  const old = Float64Array.from(logprobs, Math.exp)
  return {
    advantages: Float32Array.from(old, (pi) => advantage * Math.sqrt(Math.max(0, 1 - pi))),
    logprobs: Float32Array.from(old, (pi) => Math.log((pi + (pi + 1) / 2) / 2)),
  }
}

/**
 * Returns advantage and ratio of A-LoL (2305.14718, code): A = max(0, R - V), with R the outcome in [-1, 1] and V the mean outcome of
 * the group. The ratio is pi / pi_ref, with the weights when the update begins as reference. `policy.training.clip` bounds it.
 */
export function aLol(logprobs: ArrayLike<number>, value: number, group: readonly number[]): Corrected {
  const { mean } = moments(group.length > 0 ? group : [0.5])
  const advantage = Math.max(0, 2 * (value - mean))
  return {
    advantages: Float32Array.from(logprobs, () => advantage),
    logprobs: Float32Array.from(logprobs),
  }
}

export const OUTSIDE_RULES: Readonly<Record<OutsideRule, typeof rlPlus>> = {
  'rl-plus': rlPlus,
  'a-lol': aLol,
}
