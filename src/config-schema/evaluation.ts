/** The section `evaluation`. */
import { z } from 'zod'
import { positive, section, share } from './values.ts'

export const evaluation = section({
  splits: z
    .array(z.string().min(1))
    .default(['in-domain', 'ood'])
    .describe('Splits that are evaluated. An empty list turns evaluation off.'),
  tasks: positive.nullable().default(64).describe('Number of tasks of each split. Null takes all.'),
  rollouts: positive.default(1).describe('Number of rollouts of each task.'),
  maxSteps: positive.nullable().default(null).describe('Largest number of steps. Null as in training.'),
  temperature: z
    .number()
    .nonnegative()
    .nullable()
    .default(null)
    .describe('Temperature of sampling. Null as in training.'),
  topP: share.nullable().default(null).describe('Nucleus of sampling. Null as in training.'),
  contrast: z
    .string()
    .optional()
    .describe(
      'The claim that `rl ablate` tests first: `added - base`, two of its settings, on the first split. Named before the runs.',
    ),
  judge: z
    .boolean()
    .default(false)
    .describe(
      'Whether these trajectories are judged too. This measures the reward model on tasks that nothing is trained on.',
    ),
}).describe('Measuring the policy on fixed tasks and seeds.')
