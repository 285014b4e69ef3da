/** Small sections: models, projections, simulation, ui. */
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

/** Left out of the config if nothing is set, so it changes no run's digest. */
export const ui = z
  .strictObject({
    notify: z
      .string()
      .min(1)
      .max(2_000)
      .refine((target) => !holdsSecret(target), {
        message:
          'a URL with a secret would stand in the log: name a variable that holds it, e.g. $MY_WEBHOOK',
      })
      .optional()
      .describe(
        'Told of a stall, a failure, a pause and the end: a command for the shell, a URL for a POST, or `$NAME` for the variable that holds one of both. A command gets RL_RUN, RL_EVENT, RL_POSITION and RL_TEXT.',
      ),
    actions: z.boolean().optional().describe('False takes the buttons that act on the run from its pages.'),
  })
  .optional()
  .describe('Pages of the run, and who is told if nobody looks.')

/** Whether a URL has a password, a query, or a part that looks like a key. */
function holdsSecret(target: string): boolean {
  if (!/^https?:\/\//i.test(target) || !URL.canParse(target)) return false
  const { username, password, search, pathname } = new URL(target)
  return username !== '' || password !== '' || search !== '' || /[^/]{16,}/.test(pathname)
}
