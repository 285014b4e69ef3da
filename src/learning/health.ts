/** Figures that show early when training goes wrong; for the progress line and the events' metrics. */
import type { Advantages } from './advantage.ts'
import type { JudgeAdvantages } from './judge-advantage.ts'
import type { JudgeQuality } from './judge-quality.ts'

/** Figures of a policy update by name. The name holds the unit. They are counted before the task filter unless the name says otherwise. */
export function policyHealth(
  all: Pick<Advantages, 'tasks' | 'flatOutcomeTasks'>,
  trained: Advantages,
): Record<string, number> {
  const { lengthBonus } = trained
  return {
    flatOutcomeTaskShare: ratio(all.flatOutcomeTasks, all.tasks),
    flatGroupShareAfterFilter: ratio(trained.flatGroups, trained.groups),
    singleGroupShareAfterFilter: ratio(trained.singleGroups, trained.groups),
    trainedStepShareAfterFilter: ratio(trained.trainedSteps, trained.steps),
    ...(lengthBonus === null ? {} : { lengthBonusPerStepAfterFilter: lengthBonus }),
  }
}

/** Figures of a reward-model update by name. `process` is absent if the environment cannot tell true progress. */
export function judgeHealth(
  trained: JudgeAdvantages,
  outcome: JudgeQuality,
  process: JudgeQuality | null,
): Record<string, number> {
  return {
    trainedJudgementShareAfterFilter: ratio(trained.trained, trained.judgements),
    meanVerdict: outcome.meanVerdict,
    invalidVerdictShare: outcome.invalidShare,
    outcomeAccuracySingle: outcome.single.accuracy,
    outcomeBalancedMajority: outcome.majority.balanced,
    ...(process === null
      ? {}
      : {
          processAccuracySingle: process.single.accuracy,
          processBalancedSingle: process.single.balanced,
          processBalancedMajority: process.majority.balanced,
          goodStepShare: process.goodShare,
        }),
  }
}

/** A judge below this balanced process accuracy was measured to harm the policy. */
const HARMFUL_PROCESS_ACCURACY = 0.6

/** Returns the warning for a judge of this balanced process accuracy (single verdicts). Returns null if there is none. */
export function judgeWarning(balanced: number): string | null {
  return balanced >= HARMFUL_PROCESS_ACCURACY
    ? null
    : `the reward model agrees with true progress in only ${(100 * balanced).toFixed(1)} % of steps (balanced); below ${100 * HARMFUL_PROCESS_ACCURACY} % it harms the policy - start it on more rollouts or fewer flipped labels`
}

function ratio(part: number, whole: number): number {
  return whole === 0 ? 0 : part / whole
}
