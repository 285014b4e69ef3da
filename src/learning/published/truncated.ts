import type { PlayedRollout, RolloutFilter } from '../rules.ts'

/** Endings of rollouts that did not come to their own end. */
const TRUNCATED: ReadonlySet<PlayedRollout['ended']> = new Set(['step-limit', 'context'])

/** Leaves out rollouts that a limit cut off (DAPO, 2503.14476). `learning.truncated: mask` names it too. */
export const truncated: RolloutFilter = {
  name: 'truncated',
  version: 1,
  formula: 'weight 0 if the limit of steps or a full context ended the rollout, else 1',
  source: 'DAPO, arXiv 2503.14476, overlong filtering',
  keep: (group) => group.map(({ ended }) => (TRUNCATED.has(ended) ? 0 : 1)),
}
