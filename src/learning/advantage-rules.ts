/** The rules that turn the rewards of a task's rollouts into advantages. */
import { moments, stableMean, stableSum, ZERO_DEVIATION } from './moments.ts'
import { role } from './published/role.ts'
import { siblings } from './published/siblings.ts'
import { stateGroups } from './published/state-groups.ts'
import { stateValues } from './published/state-values.ts'
import { stepIndex } from './published/step-index.ts'
import type { AdvantageRule, GroupOptions } from './rules.ts'
import { isFlat, rewardsOf, standardise, worthOf, zScore } from './standardise.ts'
import type { GroupCounts, RewardedRollout } from './terms.ts'

function byTask(
  group: readonly RewardedRollout[],
  options: GroupOptions,
  tally: GroupCounts,
): Float64Array[] {
  const rewards = rewardsOf(group, options)
  const all = rewards.flatMap((own) => [...own])
  const standard = standardise(all, options, tally, group.length)
  return rewards.map((own) => own.map(standard))
}

function leaveOneOut(
  group: readonly RewardedRollout[],
  options: GroupOptions,
  tally: GroupCounts,
): Float64Array[] {
  tally.groups++
  const rewards = rewardsOf(group, options)
  const means = rewards.filter((own) => own.length > 0).map((own) => stableMean(own))
  if (means.length < 2) {
    tally.single++
    return rewards.map((own) => (options.single === 'raw' ? own : new Float64Array(own.length)))
  }
  const spread = moments(
    rewards.flatMap((own) => [...own]),
    options.deviation,
  )
  if (spread.deviation <= ZERO_DEVIATION) {
    tally.flat++
    return rewards.map((own) => new Float64Array(own.length))
  }
  const total = stableSum(means)
  return rewards.map((own) => {
    const others = (total - stableMean(own)) / (means.length - 1)
    return own.map((reward) => reward - others)
  })
}

/** A task counts as flat if both parts are flat. */
function separate(
  group: readonly RewardedRollout[],
  options: GroupOptions,
  tally: GroupCounts,
): Float64Array[] {
  tally.groups++
  if (group.length === 1) {
    tally.single++
    const rewards = rewardsOf(group, options)
    return rewards.map((own) => (options.single === 'raw' ? own : new Float64Array(own.length)))
  }
  const outcomes = moments(group.map(worthOf), options.deviation)
  const scores = moments(
    group.flatMap((rollout) => rollout.scores),
    options.deviation,
  )
  if (isFlat(outcomes) && (isFlat(scores) || options.weights.step === 0)) tally.flat++
  return group.map((rollout) =>
    Float64Array.from(
      rollout.scores,
      (score) =>
        options.weights.outcome * zScore(worthOf(rollout), outcomes, options.stdFloor) +
        options.weights.step * zScore(score, scores, options.stdFloor),
    ),
  )
}

/** Imitates what succeeded: a step of a rollout whose outcome is above the middle weighs 1, any other 0. */
function filtered(group: readonly RewardedRollout[], _: GroupOptions, tally: GroupCounts): Float64Array[] {
  tally.groups++
  return group.map((rollout) => new Float64Array(rollout.scores.length).fill(worthOf(rollout) > 0 ? 1 : 0))
}

/** Largest weight of a step, as in the paper's code. */
const MOST_WEIGHT = 20

/** Imitates every step, a better one more: exp(z) with the z-score over the task. A task without variance is filtered. */
function weighted(
  group: readonly RewardedRollout[],
  options: GroupOptions,
  tally: GroupCounts,
): Float64Array[] {
  const rewards = rewardsOf(group, options)
  const spread = moments(
    rewards.flatMap((own) => [...own]),
    options.deviation,
  )
  if (isFlat(spread)) return filtered(group, options, tally)
  tally.groups++
  return rewards.map((own) =>
    own.map((reward) => Math.min(MOST_WEIGHT, Math.exp(zScore(reward, spread, options.stdFloor)))),
  )
}

/** Advantages by name. The published ones have a file of their own. */
export const ADVANTAGES: readonly AdvantageRule[] = [
  stepIndex,
  {
    name: 'task',
    version: 1,
    formula: 'A_t = (R_t - mean) / sd over all steps of all rollouts of the task',
    source: 'a choice of this project; the mean alone, with learning.scale none: Dr. GRPO, arXiv 2503.20783',
    advantages: byTask,
  },
  {
    name: 'leave-one-out',
    version: 1,
    formula: "A_t = R_t less the mean of the other rollouts' mean rewards, not scaled",
    source: 'RLOO, arXiv 2402.14740',
    advantages: leaveOneOut,
  },
  {
    name: 'separate',
    version: 1,
    formula: 'A_t = w_o z(O) over the rollouts of the task + w_s z(S_t) over all its steps',
    source: 'a choice of this project',
    advantages: separate,
  },
  {
    name: 'filtered',
    version: 1,
    formula: 'A_t = 1 if the rollout ended above the middle, else 0; it is for rollouts that others played',
    source: 'imitation of successes, as in STaR, arXiv 2203.14465',
    advantages: filtered,
  },
  {
    name: 'weighted',
    version: 1,
    formula: 'A_t = min(20, exp(z)) with the z-score z of `task`',
    source: 'advantage-weighted regression, arXiv 1910.00177',
    advantages: weighted,
  },
  stateGroups,
  role,
  siblings,
  stateValues,
]
