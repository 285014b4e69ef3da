/** Small sections: models, projections, simulation. */
import { z } from 'zod'
import { moduleName, positive, section, share } from './values.ts'

export const models = section({
  module: moduleName.describe('Path or package of a module with providers of language models of your own.'),
}).describe('Providers of language models of your own.')

export const projections = section({
  modules: z
    .array(z.string().min(1))
    .default([])
    .describe('Paths or packages of modules with projections of your own. `rl projections` shows them.'),
}).describe('Tables that follow from the log.')

export const simulation = section({
  policyAccuracy: share
    .default(0.5)
    .describe(
      'For coding, the share of right programs. The others are reference solutions with one fault. If actions are chosen, the share of rollouts that follow the expert.',
    ),
  learningRate: z.number().nonnegative().default(0.03).describe('How fast success grows with training.'),
  judgeAccuracy: share
    .default(0.7)
    .describe(
      'Process accuracy of the simulated judge at the start. For coding, the share of right unit tests.',
    ),
  failureShare: share.default(0).describe('Share of rollouts that fail without a fault of the policy.'),
  steps: positive.default(8).describe('Mean number of steps of an episode.'),
}).describe('Only read if a provider is `simulated`.')
