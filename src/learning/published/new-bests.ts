import type { StepRewardRule } from '../rules.ts'

const SOURCE =
  'a choice of this project: as the retro contest paid for max(x) in place of x, arXiv 1804.03720'

/**
 * Pays a step by how much it raises the sum of its rollout's progress above the highest sum so far. A detour costs nothing, and the way
 * back gains nothing. `progress` and `outlook` charge for a detour: in long episodes a small policy then learns to try nothing.
 */
export const bestProgress: StepRewardRule = {
  name: 'best-progress',
  version: 1,
  formula:
    'R_t = O + lambda x min(1, max(0, P_t - max_u<t P_u)), P_t the true progress of the steps 0 to t, P_-1 = 0',
  source: SOURCE,
  needs: 'progress',
  parts: ({ value, progress }) => ({ outcome: 2 * value - 1, steps: newBests(progress) }),
  weights: ({ lambda }) => ({ outcome: 1, step: lambda }),
}

/** The same of a judge's falls, halved as in `outlook`. */
export const bestOutlook: StepRewardRule = {
  name: 'best-outlook',
  version: 1,
  formula:
    'R_t = O + lambda x min(1, max(0, F_t - max_u<t F_u)), F_t = (V_0 - V_t+1) / 2, V the expected number of steps that remain, F_-1 = 0',
  source: SOURCE,
  needs: 'falls',
  parts: ({ value, falls, actions }) => ({
    outcome: 2 * value - 1,
    steps: newBests(actions.map((_, step) => (falls?.[step] ?? 0) / 2)),
  }),
  weights: ({ lambda }) => ({ outcome: 1, step: lambda }),
}

/** `parts`: [steps]. A step that nobody judged has 0. */
function newBests(parts: readonly (number | null)[]): readonly number[] {
  let sum = 0
  let best = 0
  return parts.map((part) => {
    sum += part ?? 0
    const raised = Math.max(0, sum - best)
    best += raised
    return Math.min(1, raised)
  })
}
