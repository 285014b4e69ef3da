/** The section `learning`. */
import { z } from 'zod'
import { expert, moduleName, positive, rule, section, share } from './values.ts'

export const learning = section({
  module: moduleName.describe(
    'Path or package of a module with rules of your own: step rewards, advantages, filters, samplers, acceptance.',
  ),
  reward: rule('integrated').describe(
    'Reward of a step: `outcome` only, `integrated` (outcome + lambda * mean verdict), `progress` (outcome + lambda * true progress), `reward-model` (verdicts alone), another rule of docs/rules.md, or a rule of yours.',
  ),
  lambda: z
    .number()
    .nonnegative()
    .default(0.3)
    .describe(
      'Weight of the step part. It cancels in a group whose outcomes are all alike, if `step-index` or `task` scales by the group: `separate`, `scale: batch` or a floor keeps it.',
    ),
  advantage: rule('task').describe(
    'How rewards become advantages. They are standardised over the rollouts at the same step (`step-index`, as published), over all steps of the `task`, against the other rollouts (`leave-one-out`), with outcome and step parts apart (`separate`), over steps in the same state (`state-groups`), or by a rule of yours. `filtered` imitates rollouts that succeeded, `weighted` imitates all by exp(advantage).',
  ),
  filter: rule('accuracy').describe(
    'Which tasks train the policy: by `accuracy` (`policyAccuracyRange` and `mixedOutcomes`), by their `variance`, by the `trend` of their pass rates if their outcomes are guesses, or by a rule of yours.',
  ),
  rollouts: z
    .array(z.string().min(1))
    .optional()
    .describe(
      'Rules that leave out or weigh single rollouts, in order: `truncated`, `void-turn`, `correct-resample`, or rules of yours. Left-out rollouts stay in the statistics of their group.',
    ),
  weights: z
    .array(z.string().min(1))
    .optional()
    .describe(
      'Rules that weigh the steps of a batch, in order: `negative-scale`, `three-sigma`, `duration`, or rules of yours.',
    ),
  outside: z
    .string()
    .min(1)
    .optional()
    .describe(
      'File with trajectories of experts or other policies, a JSON object with `task` and `actions` a line. They are played in the environment of the run, and train beside the rollouts of their task. For local policies that choose commands.',
    ),
  outsideRule: z
    .enum(['rl-plus', 'a-lol'])
    .optional()
    .describe('Correction of outside trajectories: `rl-plus`, which is the default, or `a-lol`.'),
  successPool: z
    .boolean()
    .optional()
    .describe(
      'Whether a group without a success gets the newest logged success of its task, with the log-probs that it was sampled with.',
    ),
  alarms: z
    .array(z.string().min(1))
    .optional()
    .describe('Rules that warn people of figures: `drift`, or rules of yours. They change nothing.'),
  options: z
    .record(z.string().min(1), z.record(z.string().min(1), z.unknown()))
    .optional()
    .describe('Options of rules, by the name of the rule: docs/rules.md lists them with their defaults.'),
  scale: z
    .enum(['group', 'batch', 'none'])
    .default('group')
    .describe(
      'Divisor of `step-index` and `task`: the standard deviation of the group, that of all rewards of the batch, or none (Dr. GRPO).',
    ),
  truncated: z
    .enum(['train', 'mask'])
    .default('train')
    .describe(
      'Rollouts that the limit of steps or a full context cut off: they train as any other (`train`), or count in their group alone (`mask`, the "overlong filtering" of DAPO). `mask` is the rule `truncated` of `rollouts`.',
    ),
  mixedOutcomes: z
    .union([z.boolean(), z.literal('graded')])
    .default(true)
    .describe(
      'Whether only tasks with successes and failures train the policy. `graded` takes tasks whose outcomes differ, such as a draw and a loss.',
    ),
  expert: expert({
    policyAccuracyRange: z
      .tuple([share, share])
      .nullable()
      .default(null)
      .describe('Only tasks whose accuracy lies in this range train the policy. Null takes all.'),
    single: z
      .enum(['zero', 'raw'])
      .default('zero')
      .describe('Advantage of a step that only one rollout reached: 0, or its bare reward.'),
    stdFloor: z.number().nonnegative().default(0).describe('Smallest standard deviation of a group.'),
    overlong: section({
      maxTokens: positive
        .nullable()
        .default(null)
        .describe('Longest rollout in sampled tokens. Null for no penalty.'),
      bufferTokens: positive
        .default(4096)
        .describe('Number of tokens before the limit over which the penalty grows from 0 to `factor`.'),
      factor: z.number().nonnegative().default(1).describe('Penalty at the limit and beyond.'),
    }).describe('Soft penalty on long rollouts, taken from the reward of the outcome (GRPO-TCR).'),
    deviation: z
      .enum(['population', 'sample'])
      .default('population')
      .describe(
        "Standard deviations divide by n (`population`), or by n - 1 (`sample`: Bessel's correction, as in TRL).",
      ),
  }),
}).describe('From outcomes and verdicts to advantages.')
