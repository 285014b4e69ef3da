/** The section `adaptation`. */
import { z } from 'zod'
import { endpoint, endpointExpert } from './endpoint.ts'
import { expert, positive, rule, section, share } from './values.ts'

export const adaptation = section({
  enabled: z.boolean().default(true).describe('Whether tasks are rewritten.'),
  low: share.default(0.2).describe('A task at or below this accuracy should become easier.'),
  high: share.default(0.8).describe('A task at or above this accuracy should become harder.'),
  candidates: z
    .enum(['beside', 'within'])
    .default('beside')
    .describe(
      'Whether candidates are played `beside` the `tasksPerIteration` training tasks, or `within` that number. With `within` an iteration plays as many rollouts with adaptation as without.',
    ),
  rule: rule('strict').describe(
    'When a candidate is accepted: between the thresholds (`strict`), also on them (`inclusive`), if some solve it and some do not (`mixed`), or by a rule of yours.',
  ),
  evidence: z
    .enum(['point', 'bayes'])
    .default('bayes')
    .describe(
      'A candidate is accepted by its measured accuracy (`point`), or by the posterior probability that the rule holds (`bayes`).',
    ),
  anyType: z
    .boolean()
    .optional()
    .describe('Whether a rewrite may be of another type of task than its parent. Absent is false.'),
  choice: z
    .enum(['guided', 'random'])
    .optional()
    .describe(
      'Which new task the symbolic rewriter takes: one that is harder or easier as the critiques say (`guided`), or any other of the room (`random`, a control). Absent is `guided`.',
    ),
  accepted: z
    .enum(['replace', 'add'])
    .optional()
    .describe(
      "Whether an accepted task takes its parent's place (`replace`), or is played beside it (`add`). Absent is `replace`.",
    ),
  rewriter: z
    .enum(['symbolic', 'language-model'])
    .default('symbolic')
    .describe("Who rewrites: the setting's own rules, or a language model."),
  skills: z
    .boolean()
    .optional()
    .describe(
      'Whether a language model that rewrites is told the success of each kind of task in the iteration before (EnvGen). Absent is false.',
    ),
  ...endpoint,
  provider: z.string().min(1).default('openai').describe('Provider of the language model that rewrites.'),
  model: z.string().min(1).default('gpt-4o-mini').describe('The language model that rewrites.'),
  samples: positive
    .default(8)
    .describe(
      'Number of answers of the language model for a candidate. The first that the environment takes is proposed.',
    ),
  expert: expert({
    ...endpointExpert,
    confidence: share.default(0.8).describe('Posterior probability that `bayes` asks for.'),
    prior: z
      .tuple([z.number().positive(), z.number().positive()])
      .default([1, 1])
      .describe('Pseudo-counts of successes and failures of the Beta prior, for `bayes`.'),
    temperature: z
      .number()
      .nonnegative()
      .default(1)
      .describe('Temperature of the language model that rewrites.'),
    maxTokens: positive.default(2048).describe('Largest number of tokens of one of its answers.'),
    critiques: positive.default(8).describe('Largest number of distinct critiques that a rewriter sees.'),
  }),
}).describe('Tasks become harder or easier.')
