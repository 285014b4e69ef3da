/**
 * Quality of the reward model: how often a verdict agrees with the step's true progress (process) and with the trajectory's
 * outcome (outcome). Both are counted by single judgement and by majority of the m (paper section 4). Ties and unreadable verdicts
 * count as wrong. Good and bad steps are counted apart, for balanced accuracy. Without it a judge that only says no looks good.
 */
import type { EventData } from '../events/catalogue.ts'
import type { Projection } from './projection.ts'
import { defineTable } from './table.ts'

/** For each of the four figures: number of truly good steps (or judgements), and how many were called good. The same for bad ones. */
const qualityTable = defineTable('reward_quality', ['iteration', 'purpose', 'reward_model_version'], {
  iteration: 0,
  purpose: '',
  reward_model_version: 0,
  steps: 0,
  judgements: 0,
  unreadable: 0,
  /** Sum of all scores. Divided by `judgements` it is the mean verdict. */
  score_sum: 0,
  process_good: 0,
  process_good_right: 0,
  process_bad: 0,
  process_bad_right: 0,
  process_majority_good: 0,
  process_majority_good_right: 0,
  process_majority_bad: 0,
  process_majority_bad_right: 0,
  outcome_good: 0,
  outcome_good_right: 0,
  outcome_bad: 0,
  outcome_bad_right: 0,
  outcome_majority_good: 0,
  outcome_majority_good_right: 0,
  outcome_majority_bad: 0,
  outcome_majority_bad_right: 0,
})

/** Rollouts of open iterations, for later verdicts. */
const judgedRolloutTable = defineTable('reward_rollouts', ['iteration', 'rollout'], {
  iteration: 0,
  rollout: '',
  purpose: '',
  success: 0,
})

export const rewardQuality: Projection = {
  name: 'reward-quality',
  version: 1,
  tables: [qualityTable, judgedRolloutTable],
  interests: ['TrajectoryCompleted', 'StepScored', 'IterationCompleted'],
  fold(open) {
    const quality = open(qualityTable)
    const rollouts = open(judgedRolloutTable)

    function enter({
      iteration,
      rollout,
      rewardModelVersion,
      judgements,
      progress,
    }: EventData<'StepScored'>): void {
      const known = rollouts.find(iteration, rollout)
      if (!known) return
      const row = quality.row(iteration, known.purpose, rewardModelVersion)
      let sum = 0
      let yes = 0
      let no = 0
      for (const { score } of judgements) {
        sum += score
        if (score > 0) yes++
        else if (score < 0) no++
      }
      row.steps++
      row.judgements += judgements.length
      row.unreadable += judgements.length - yes - no
      row.score_sum += sum
      if (known.success === 1) {
        row.outcome_good += judgements.length
        row.outcome_good_right += yes
        row.outcome_majority_good++
        if (sum > 0) row.outcome_majority_good_right++
      } else {
        row.outcome_bad += judgements.length
        row.outcome_bad_right += no
        row.outcome_majority_bad++
        if (sum < 0) row.outcome_majority_bad_right++
      }
      if (progress === null) return
      if (progress > 0) {
        row.process_good += judgements.length
        row.process_good_right += yes
        row.process_majority_good++
        if (sum > 0) row.process_majority_good_right++
      } else {
        row.process_bad += judgements.length
        row.process_bad_right += no
        row.process_majority_bad++
        if (sum < 0) row.process_majority_bad_right++
      }
    }

    return function applyRewardQuality({ type, data }) {
      if (type === 'StepScored') enter(data)
      else if (type === 'TrajectoryCompleted') {
        if (data.outcome.kind !== 'scored') return
        const row = rollouts.row(data.iteration, data.rollout)
        row.purpose = data.purpose
        row.success = data.outcome.success ? 1 : 0
      } else if (type === 'IterationCompleted') rollouts.removeAll(data.iteration)
    }
  },
}
