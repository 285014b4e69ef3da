/** The section `rewardModel`. */
import { z } from 'zod'
import { endpoint, endpointExpert } from './endpoint.ts'
import { readBy } from './readers.ts'
import { logprobs, publish, trainer, trainReasoning } from './trained.ts'
import { coldStart, coldStartExpert, training, trainingExpert } from './training.ts'
import { count, expert, positive, section, share } from './values.ts'

export const rewardModel = section({
  ...endpoint,
  mode: z
    .enum(['off', 'fixed', 'co-trained'])
    .default('co-trained')
    .describe('No judge (`off`), a judge that stays as it is (`fixed`), or one that learns (`co-trained`).'),
  judging: z
    .enum(['trajectory', 'group'])
    .default('trajectory')
    .describe(
      'What is judged at a time: each trajectory as it comes, or all rollouts of a task together (`group`, unit tests).',
    ),
  form: z
    .enum(['causes', 'estimate'])
    .optional()
    .describe(
      'What a local judge says of a step. `causes`: a cause and its verdict. `estimate`: how many steps remain and by how much that fell. It is a small model of its own: a preset, or a folder with a judge that was taught elsewhere. `learning.reward: outlook` or `best-outlook` is paid by it, and temperature 0 serves it best. Absent is `causes`.',
    ),
  reads: z
    .enum(['step', 'next-message'])
    .optional()
    .describe(
      "What a verdict is made of: the `step` itself, or the `next-message`, which is what the agent's user or tool said after it. Absent is `step`.",
    ),
  criteria: z
    .union([z.literal('causes'), z.array(z.string().min(1).max(400)).min(1)])
    .optional()
    .describe(
      'What votes are about, for rules that read it. `causes`: a local judge names a cause with each vote. A list: a judge that reads prompts is asked about its texts in turn, so `samples` is a multiple of their number.',
    ),
  consistency: z
    .boolean()
    .optional()
    .describe(
      'Whether a verdict earns by its form, by being right and by agreeing with the other votes of its step, and outliers leave the batch (R1-Reward). Absent: by the reward of the step.',
    ),
  oracle: z
    .boolean()
    .optional()
    .describe(
      'Whether the judge of `provider: environment` knows the true state, hidden objects too. For measuring alone: it is the ceiling of what a judge is worth.',
    ),
  errors: z
    .strictObject({
      share: share.describe('Share of the steps, or of the commands, that are judged wrong.'),
      by: z
        .enum(['step', 'command'])
        .describe('`step`: each step by a draw of its own. `command`: a command always, or never.'),
    })
    .optional()
    .describe(
      "Errors of the verdicts of `provider: environment`, for rules that read verdicts. Each verdict is sure then, also with a share of 0. For measuring alone: it tells how often a judge must agree with the setting's estimate to pay.",
    ),
  samples: positive.default(1).describe('Number of judgements of each step (m).'),
  temperature: z.number().nonnegative().default(1).describe('Temperature of judging.'),
  maxTokens: positive.default(8).describe('Largest number of tokens of one judgement, critique included.'),
  frames: z
    .boolean()
    .default(false)
    .describe('Whether a judge that sees gets the screens before and after each step.'),
  expected: z
    .boolean()
    .default(true)
    .describe('Whether p(good) - p(bad) replaces the mean of the samples, if the model tells it.'),
  normalisation: z
    .enum(['within-task', 'within-step', 'none'])
    .default('within-task')
    .describe(
      "Group over which the reward model's reward is standardised. `within-step` is the published one.",
    ),
  accuracyRange: z
    .tuple([share, share])
    .default([0.2, 0.8])
    .describe('Only tasks whose accuracy lies in this range train the reward model.'),
  coldStart: readBy(
    'taught',
    section({
      rollouts: positive
        .default(1000)
        .describe(
          'Number of rollouts of policy version 0, labelled by true progress, or by their outcomes if the setting tells none.',
        ),
      ...coldStart,
      updates: count.default(200).describe('Number of optimiser steps.'),
      expert: expert({
        ...coldStartExpert,
        flippedLabels: share.default(0.1).describe('Share of labels that are flipped.'),
        learningRate: z
          .number()
          .positive()
          .default(5e-3)
          .describe('Highest learning rate. It falls linearly to 0.'),
        expertRollouts: positive
          .optional()
          .describe(
            'Rollouts of experts that a judge of the form `estimate` is taught on, each twice. Absent is 10,000.',
          ),
        ownRollouts: positive
          .optional()
          .describe(
            'Further rollouts, which that judge reads itself before it learns from each twice. Absent is 5,000.',
          ),
      }),
    }).describe("How version 0 of a local model is made, from the policy's version 0."),
  ),
  trainer,
  publish,
  training: section({
    ...training,
    learningRate: z.number().positive().default(3e-4).describe('Constant learning rate of AdamW.'),
    updates: positive
      .default(2)
      .describe('Number of optimiser steps an iteration. Each sees its own part of the samples.'),
    expert: expert({
      ...trainingExpert,
    }),
  }).describe('The update of an iteration.'),
  expert: expert({
    ...endpointExpert,
    logprobs,
    topP: share.default(1).describe('Nucleus of judging.'),
    balanceVerdicts: z
      .boolean()
      .default(true)
      .describe('Whether pushes towards good and towards bad verdicts weigh the same over the batch.'),
    measuredRollouts: count
      .nullable()
      .default(2)
      .describe(
        'Number of rollouts of a training group whose verdicts are measured against true progress. Null for all. Evaluations are measured whole.',
      ),
    invalidReward: z.number().default(-2).describe('Reward of a judgement that no rule could read.'),
    novelTests: z
      .boolean()
      .default(false)
      .describe(
        'Whether a written test earns only if the task does not show its input. A test that repeats an example then earns as one that cannot be read.',
      ),
    trainReasoning,
  }),
}).describe('The model that judges steps.')
