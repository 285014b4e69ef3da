/** A step reward that prefers short successes: the outcome, less a tenth of a point for each step beyond the fourth. */
import type { StepRewardRule } from 'rlanything/learning'

export const stepRewards: readonly StepRewardRule[] = [
  {
    name: 'short',
    version: 1,
    parts: ({ value, actions }) => ({
      outcome: 2 * value - 1,
      steps: actions.map((_, t) => (t < 4 ? 0 : -1)),
    }),
    weights: () => ({ outcome: 1, step: 0.1 }),
  },
]
