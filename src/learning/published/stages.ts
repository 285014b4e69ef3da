import { z } from 'zod'
import { itemAt } from '../../item-at.ts'
import type { Horizon } from '../rules.ts'
import { tunable } from '../tunable.ts'

const options = z.strictObject({
  shares: z
    .array(z.number().positive().max(1))
    .min(1)
    .default([0.5, 0.75, 1])
    .describe('Limit of steps in each stage, as a share of `environment.maxSteps`. The last one stays.'),
  every: z.int().positive().default(100).describe('Number S of iterations of a stage.'),
})

/** Lets episodes grow longer in stages (ScalingInter of AgentGym-RL, 2509.08755). The shares are a choice of this project. */
export const stages = tunable(
  options,
  ({ shares, every }): Horizon => ({
    name: 'stages',
    version: 1,
    formula: 'limit of steps of stage min(floor((k - 1) / S), last) in iteration k',
    source: 'AgentGym-RL, arXiv 2509.08755, code; the shares are a choice of this project',
    maxSteps: (_, { maxSteps, iteration }) => {
      const stage = Math.min(Math.floor((iteration - 1) / every), shares.length - 1)
      return Math.max(1, Math.round(itemAt(shares, Math.max(0, stage)) * maxSteps))
    },
  }),
)
