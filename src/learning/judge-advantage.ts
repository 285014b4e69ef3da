/**
 * Rewards and advantages of the reward model's own judgements (paper section 2.3). A verdict is right as far as it agrees
 * with the integrated reward of the step that it judges.
 *
 * Standardised within a step (as published), the size of R cancels, and its sign is left. With lambda below 1 that sign is
 * the outcome under every normalisation. So the judge learns to foretell outcomes. Within the task the size of R only weighs
 * steps against each other.
 */
import { itemAt } from '../item-at.ts'
import { moments, stableSum, ZERO_DEVIATION } from './moments.ts'
import { stepReward } from './reward.ts'
import type { Outcome, Score } from './terms.ts'

export type JudgeNormalisation = 'within-task' | 'within-step' | 'none'

export type JudgeAdvantageOptions = {
  readonly lambda: number
  readonly normalisation: JudgeNormalisation
  /** Reward of an unreadable judgement. */
  readonly invalidReward: number
  /** If true, pushes towards good and towards bad verdicts weigh the same over the whole batch. */
  readonly balanceVerdicts: boolean
  /** If true, a verdict earns by `consistentReward`, and outliers beyond 3 sd of the batch are dropped. */
  readonly consistency?: boolean
}

export type JudgedRollout = {
  readonly id: string
  readonly task: string
  readonly outcome: Outcome
  /** [steps][m] verdicts. A step that was not judged has none. */
  readonly verdicts: readonly (readonly Score[])[]
  /** [steps] mean score in the step reward. */
  readonly scores: readonly number[]
}

export type JudgeAdvantages = {
  /** By rollout id, [steps][m]. Exactly 0 for a judgement that is not trained on. */
  readonly byRollout: ReadonlyMap<string, readonly Float64Array[]>
  readonly judgements: number
  readonly trained: number
  /** Number of steps (within-task: tasks) whose judgements all earned the same. They are dropped. */
  readonly flatGroups: number
  readonly groups: number
}

/**
 * Returns R^S = R * S for a readable verdict, else the reward of an invalid one (released code: -2).
 * @example judgementReward(2, -1, -2) // -2
 */
export function judgementReward(reward: number, score: Score, invalidReward: number): number {
  return score === 0 ? invalidReward : reward * score
}

/**
 * Computes the advantages of all judgements of an iteration, with the figures about them.
 * @example
 * const rollout = { id: 'a', task: 't', outcome: 1, verdicts: [[1, -1]], scores: [0] } as const
 * const options = { lambda: 1, normalisation: 'within-step', invalidReward: -2, balanceVerdicts: false } as const
 * judgeAdvantages([rollout], options).byRollout.get('a') // [Float64Array [1, -1]]
 */
export function judgeAdvantages(
  rollouts: readonly JudgedRollout[],
  options: JudgeAdvantageOptions,
): JudgeAdvantages {
  const rewards = new Map(rollouts.map((rollout) => [rollout.id, judgementRewards(rollout, options)]))
  const groups = normalisationGroups(rollouts, rewards, options.normalisation)
  let flatGroups = 0
  for (const group of groups) {
    if (options.normalisation === 'none') continue
    const { n, mean, deviation } = moments(group.flatMap((row) => [...row]))
    const flat = n < 2 || deviation <= ZERO_DEVIATION
    if (flat) flatGroups++
    for (const row of group) {
      for (const [j, reward] of row.entries()) row[j] = flat ? 0 : (reward - mean) / deviation
    }
  }
  if (options.consistency) dropOutliers(rewards)
  if (options.balanceVerdicts) balance(rollouts, rewards)
  let judgements = 0
  let trained = 0
  for (const rows of rewards.values()) {
    for (const row of rows) {
      judgements += row.length
      for (const value of row) if (value !== 0) trained++
    }
  }
  return { byRollout: rewards, judgements, trained, flatGroups, groups: groups.length }
}

/**
 * Returns f / 2 + a (1 + c / 2) of R1-Reward (2505.02835, code): f = 1 if the verdict can be read, a = 1 if it has the sign of the
 * step's reward. Its c is an answer of a further model. Here c is 1 if most other votes of the step agree, -1 if most differ, else 0.
 * @example consistentReward(1, [1, 1, 1], 0) // 2
 */
export function consistentReward(reward: number, scores: readonly Score[], at: number): number {
  const score = itemAt(scores, at)
  if (score === 0) return 0
  const right = reward * score > 0 ? 1 : 0
  const others = scores.reduce((sum: number, other, i) => (i === at ? sum : sum + other * score), 0)
  return 0.5 + right * (1 + Math.sign(others) / 2)
}

function judgementRewards(rollout: JudgedRollout, options: JudgeAdvantageOptions): Float64Array[] {
  return rollout.verdicts.map((scores, step) => {
    const reward = stepReward(rollout.outcome, itemAt(rollout.scores, step), options.lambda)
    if (options.consistency) return Float64Array.from(scores, (_, at) => consistentReward(reward, scores, at))
    return Float64Array.from(scores, (score) => judgementReward(reward, score, options.invalidReward))
  })
}

/** Sets advantages beyond 3 standard deviations of the batch to 0 (R1-Reward, 2505.02835). */
function dropOutliers(advantages: ReadonlyMap<string, Float64Array[]>): void {
  const rows = [...advantages.values()].flat()
  const { mean, deviation } = moments(rows.flatMap((row) => [...row]))
  for (const row of rows)
    for (const [j, value] of row.entries()) if (Math.abs(value - mean) > 3 * deviation) row[j] = 0
}

/** The rows (one a step) that are standardised together. */
function normalisationGroups(
  rollouts: readonly JudgedRollout[],
  rewards: ReadonlyMap<string, Float64Array[]>,
  normalisation: JudgeNormalisation,
): Float64Array[][] {
  const groups = new Map<string, Float64Array[]>()
  for (const { id, task } of rollouts) {
    for (const [step, row] of (rewards.get(id) ?? []).entries()) {
      if (row.length === 0) continue
      const key = normalisation === 'within-task' ? task : `${id}\n${step}`
      const group = groups.get(key)
      if (group) group.push(row)
      else groups.set(key, [row])
    }
  }
  return [...groups.values()]
}

/** A judgement pushes towards its own verdict if its advantage is positive, else towards the other verdict. */
function balance(rollouts: readonly JudgedRollout[], advantages: ReadonlyMap<string, Float64Array[]>): void {
  const towards = { good: [] as number[], bad: [] as number[] }
  const side = (value: number, score: Score) => (value * score > 0 ? 'good' : 'bad')
  const each = (visit: (value: number, score: Score, row: Float64Array, j: number) => void) => {
    for (const { id, verdicts } of rollouts) {
      for (const [step, row] of (advantages.get(id) ?? []).entries()) {
        for (const [j, value] of row.entries()) {
          const score = itemAt(itemAt(verdicts, step), j)
          if (score !== 0 && value !== 0) visit(value, score, row, j)
        }
      }
    }
  }
  each((value, score) => towards[side(value, score)].push(Math.abs(value)))
  const good = stableSum(towards.good)
  const bad = stableSum(towards.bad)
  if (good === 0 || bad === 0) return
  const scale = { good: (good + bad) / (2 * good), bad: (good + bad) / (2 * bad) }
  each((value, score, row, j) => {
    row[j] = value * scale[side(value, score)]
  })
}
