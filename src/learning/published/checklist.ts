import { z } from 'zod'
import { UNREADABLE, votesOf, weightsOption } from '../criteria.ts'
import { stableSum } from '../moments.ts'
import type { StepRewardRule } from '../rules.ts'
import { tunable } from '../tunable.ts'

const options = z.strictObject({ weights: weightsOption })

/**
 * Pays each criterion once, at the first step that passes it (CM2, 2602.12268). The weights of the criteria that the judge spoke of
 * in a rollout sum to 1. CM2 takes it with `step-index` and its `minHolders`.
 */
export const checklist = tunable(
  options,
  ({ weights }): StepRewardRule => ({
    name: 'checklist',
    version: 1,
    needs: ['verdicts', 'criteria'],
    formula: 'S_t = sum over criteria c of w_c if c passes at t and passed at no step before; sum of w_c = 1',
    source: 'CM2, arXiv 2602.12268, code',
    parts(rollout) {
      const { value, actions, criteria } = rollout
      const spoken = new Set((criteria ?? []).flat().filter((one) => one !== UNREADABLE))
      const weightOf = (criterion: string) => weights[criterion] ?? 1
      const sum = stableSum([...spoken].map(weightOf))
      const passed = new Set<string>()
      const steps = actions.map((_, t) => {
        const fresh = [...votesOf(rollout, t)].filter(([one, votes]) => votes > 0 && !passed.has(one))
        for (const [criterion] of fresh) passed.add(criterion)
        return sum > 0 ? Math.min(1, stableSum(fresh.map(([one]) => weightOf(one))) / sum) : 0
      })
      return { outcome: 2 * value - 1, steps }
    },
    weights: ({ lambda }) => ({ outcome: 1, step: lambda }),
  }),
)
