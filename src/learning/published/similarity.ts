import { z } from 'zod'
import { likeness } from '../likeness.ts'
import type { StepRewardRule } from '../rules.ts'
import { tunable } from '../tunable.ts'

const options = z.strictObject({
  most: z.int().positive().max(20_000).default(4_000).describe('Characters of each text that are compared.'),
})

/**
 * Rewards a rollout by the likeness of its actions to the task's own solution, and -1 if an answer could not be read (SWE-RL,
 * 2502.18449). Nothing is run.
 */
export const similarity = tunable(
  options,
  ({ most }): StepRewardRule => ({
    name: 'similarity',
    version: 1,
    needs: ['invalid', 'reference'],
    formula:
      'O = 2 M / L, M matched characters, L characters of both texts; -1 if an answer is unreadable; S_t = 0',
    source: 'SWE-RL, arXiv 2502.18449, code',
    parts({ actions, reference, invalid }) {
      const unreadable = invalid?.some((mark) => mark === 1) ?? false
      const own = actions.join('\n').slice(0, most)
      return {
        outcome: unreadable ? -1 : likeness(own, (reference ?? '').slice(0, most)),
        steps: actions.map(() => 0),
      }
    },
    weights: ({ lambda }) => ({ outcome: 1, step: lambda }),
  }),
)
