/** How many rollouts the start of a learned judge takes, each labelled by the setting. */
import type { Config } from '../config-schema/schema.ts'
import { isPreset } from '../models/local/presets.ts'

/** Rollouts of experts, and those that a judge of the form `estimate` reads itself, if the config names no numbers. */
const EXPERT_ROLLOUTS = 10_000
const OWN_ROLLOUTS = 5_000
/** Most rollouts that are held out to measure such a judge. */
const HELD_OUT = 200

export type EstimateRollouts = {
  /** Rollouts of experts. */
  readonly rollouts: number
  /** Rollouts that the judge reads itself before it learns from them. */
  readonly ownRollouts: number
}

/** Returns the rollouts that a judge of the form `estimate` is taught on. */
export function estimateRollouts({ rewardModel }: Pick<Config, 'rewardModel'>): EstimateRollouts {
  const { expertRollouts = EXPERT_ROLLOUTS, ownRollouts = OWN_ROLLOUTS } = rewardModel.coldStart.expert
  return { rollouts: expertRollouts, ownRollouts }
}

/** Whether the run begins with a judge of the form `estimate` that was taught elsewhere. It is only measured here. */
export function isFromFolder({ rewardModel }: Pick<Config, 'rewardModel'>): boolean {
  const { mode, provider, form, model } = rewardModel
  return mode !== 'off' && provider === 'local' && form === 'estimate' && !isPreset(model)
}

/** Returns how many of the experts' rollouts are held out besides. */
export function heldOutOf({ rollouts }: EstimateRollouts): number {
  return Math.min(HELD_OUT, rollouts)
}

/**
 * Returns the number of labelled rollouts of the judge's start, held-out ones included. It is 0 if no judge is learned.
 *
 * @example labelledRollouts(loadConfig({ set: ['rewardModel.mode=off'] })) // 0
 */
export function labelledRollouts({ rewardModel }: Pick<Config, 'rewardModel'>): number {
  if (rewardModel.mode === 'off' || rewardModel.provider !== 'local') return 0
  if (rewardModel.form !== 'estimate') return rewardModel.coldStart.rollouts
  const taught = estimateRollouts({ rewardModel })
  const heldOut = heldOutOf(taught)
  return isFromFolder({ rewardModel }) ? heldOut : heldOut + taught.rollouts + taught.ownRollouts
}
