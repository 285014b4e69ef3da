/** Rewards of others' environments, mapped to outcomes in [0, 1]. */
import { RlError } from '../../errors.ts'

export type Rewards = {
  /** Whether the rewards of all steps are added, or the last one counts alone. */
  readonly from: 'summed' | 'last'
  /** Reward that is outcome 0. */
  readonly low: number
  /** Reward that is outcome 1. */
  readonly high: number
}

/**
 * Returns the reward so far, after one more.
 *
 * @example withReward({ from: 'summed', low: 0, high: 1 }, 0.25, 0.5) // 0.75
 */
export function withReward({ from }: Rewards, before: number, reward: number): number {
  return from === 'summed' ? before + reward : reward
}

/**
 * Returns the outcome in [0, 1]. The rounding of a sum is forgiven.
 *
 * @throws RlError `environment.reward` if the reward is outside the bounds
 * @example outcomeOf({ from: 'last', low: -1, high: 1 }, 0) // 0.5
 */
export function outcomeOf({ low, high }: Rewards, reward: number): number {
  const value = (reward - low) / (high - low)
  const slack = 1e-9
  if (!(value >= -slack && value <= 1 + slack))
    throw new RlError(`the reward ${reward} is outside [${low}, ${high}]`, {
      code: 'environment.reward',
      hint: 'set reward.low and reward.high of the section to what the environment can give',
    })
  return Math.min(1, Math.max(0, value > 1 - slack ? 1 : value))
}
