import { checklist } from './published/checklist.ts'
import { gated } from './published/gated.ts'
import { grounded } from './published/grounded.ts'
import { implicit } from './published/implicit.ts'
import { bestOutlook, bestProgress } from './published/new-bests.ts'
import { pessimistic } from './published/pessimistic.ts'
import { principles } from './published/principles.ts'
import { similarity } from './published/similarity.ts'
import { tiers } from './published/tiers.ts'
import { traced } from './published/traced.ts'
import { judgedParts } from './reward.ts'
import type { StepRewardRule } from './rules.ts'

/** The published rewards, and the rewards that the ablation compares them with. */
export const STEP_REWARDS: readonly StepRewardRule[] = [
  {
    name: 'integrated',
    version: 1,
    formula: 'R_t = O + lambda S_t, S_t the mean vote',
    source: 'RLAnything, arXiv 2602.02488, section 2.2',
    needs: 'verdicts',
    parts: judgedParts,
    weights: ({ lambda }) => ({ outcome: 1, step: lambda }),
  },
  {
    name: 'outcome',
    version: 1,
    formula: 'R_t = O',
    source: 'RLAnything, arXiv 2602.02488, ablation',
    parts: judgedParts,
    weights: () => ({ outcome: 1, step: 0 }),
  },
  {
    name: 'reward-model',
    version: 1,
    formula: 'R_t = lambda S_t',
    source: 'RLAnything, arXiv 2602.02488, ablation',
    needs: 'verdicts',
    parts: judgedParts,
    weights: ({ lambda }) => ({ outcome: 0, step: lambda }),
  },
  {
    name: 'progress',
    version: 1,
    formula: 'R_t = O + lambda x true progress of step t',
    source: 'a choice of this project, the upper bound of a judge',
    needs: 'progress',
    parts: ({ value, progress }) => ({
      outcome: 2 * value - 1,
      steps: progress.map((part) => Math.max(-1, Math.min(1, part ?? 0))),
    }),
    weights: ({ lambda }) => ({ outcome: 1, step: lambda }),
  },
  {
    name: 'outlook',
    version: 1,
    formula: 'R_t = O + lambda x clip((V_t - V_t+1) / 2, -1, 1), V the expected number of steps that remain',
    source: 'a choice of this project: a potential as in Ng et al. 1999, without discount',
    needs: 'falls',
    parts: ({ value, falls, actions }) => ({
      outcome: 2 * value - 1,
      steps: actions.map((_, step) => Math.max(-1, Math.min(1, (falls?.[step] ?? 0) / 2))),
    }),
    weights: ({ lambda }) => ({ outcome: 1, step: lambda }),
  },
  bestProgress,
  bestOutlook,
  gated,
  grounded,
  pessimistic,
  tiers,
  checklist,
  principles,
  implicit,
  similarity,
  traced,
]
