import type { RolloutFilter } from '../rules.ts'

/** Leaves out rollouts with a step that neither acts nor answers (SimpleTIR, 2509.02479). */
export const voidTurn: RolloutFilter = {
  name: 'void-turn',
  version: 1,
  needs: 'invalid',
  formula: 'weight 0 if any answer could not be read, or neither acted nor answered, else 1',
  source: 'SimpleTIR, arXiv 2509.02479, code',
  keep: (group) => group.map(({ invalid }) => (invalid?.includes(1) ? 0 : 1)),
}
