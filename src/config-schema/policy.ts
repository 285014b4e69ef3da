/** The section `policy`. */
import { z } from 'zod'
import { endpoint, endpointExpert } from './endpoint.ts'
import { instructions } from './instructions.ts'
import { readBy } from './readers.ts'
import { logprobs, publish, trainer, trainReasoning } from './trained.ts'
import { coldStart, coldStartExpert, training, trainingExpert } from './training.ts'
import { count, expert, positive, section, share } from './values.ts'

export const policy = section({
  ...endpoint,
  acting: z
    .enum(['choices', 'free', 'numbered'])
    .default('choices')
    .describe(
      'How the model acts: it generates an admissible command under a trie (`choices`), writes text (`free`), or picks a numbered option in a box (`numbered`). If the setting takes texts, `free` is the default.',
    ),
  thinking: readBy(
    'thinking',
    z
      .boolean()
      .nullable()
      .default(null)
      .describe(
        '`enable_thinking` for the chat template of a local model that acts by prompts. Null sets nothing. Choices are made without thinking.',
      ),
  ),
  contextTokens: readBy(
    'episodes',
    positive
      .default(512)
      .describe(
        'Longest episode in tokens if commands are chosen. It is the whole context of a model that is trained from scratch.',
      ),
  ),
  lora: section({
    rank: readBy(
      'folder',
      positive
        .nullable()
        .default(null)
        .describe(
          'Rank of a low-rank adapter on the folder that `model` names. Only the adapter is trained. Null trains all weights.',
        ),
    ),
    alpha: readBy(
      'adapter',
      z
        .number()
        .positive()
        .nullable()
        .default(null)
        .describe('Scale of the adapter times the rank. Null is twice the rank.'),
    ),
    expert: expert({
      targets: readBy(
        'adapter',
        z
          .array(z.string().min(1))
          .min(1)
          .default(['q_proj', 'k_proj', 'v_proj', 'o_proj', 'gate_proj', 'up_proj', 'down_proj'])
          .describe('Modules that have an adapter.'),
      ),
    }),
  }).describe(
    'A low-rank adapter. With a rank, version 0 is taught on the demonstrations of `coldStart`, for each way of acting on commands.',
  ),
  temperature: z.number().nonnegative().default(1).describe('Temperature of sampling in training rollouts.'),
  topP: share.default(1).describe('Nucleus of sampling in training rollouts.'),
  maxTokens: positive.default(24).describe('Largest number of tokens of one action, reasoning included.'),
  historySteps: readBy(
    'prompts',
    positive
      .nullable()
      .default(null)
      .describe('Number of earlier steps that a prompt shows. Null shows all.'),
  ),
  frames: count
    .default(0)
    .describe(
      'Number of screens that a prompt shows, the newest last, for models that see. `environment.grammar` is the form of their actions. 0 for models that read text.',
    ),
  coldStart: readBy(
    'taught',
    section({
      demonstrations: positive.default(5000).describe('Number of expert episodes to imitate.'),
      ...coldStart,
      expert: expert({
        ...coldStartExpert,
        difficulty: z
          .enum(['easy', 'medium', 'hard'])
          .nullable()
          .default(null)
          .describe(
            'Difficulty of the generated tasks that are demonstrated. Null takes that of the environment.',
          ),
        expertNoise: share
          .default(0.32)
          .describe('Share of random commands in the demonstrations. Failures are kept.'),
      }),
    }).describe('How version 0 of a local model is made. It is kept in a cache by content.'),
  ),
  instructions,
  trainer,
  publish,
  training: section({
    enabled: z
      .boolean()
      .default(true)
      .describe('Whether the policy is trained. If not, it stays at version 0.'),
    ...training,
    expert: expert({
      ...trainingExpert,
    }),
  }).describe('The update of an iteration.'),
  expert: expert({
    ...endpointExpert,
    cacheMegabytes: positive
      .default(256)
      .describe(
        'Memory for keys and values of a local model, all episodes together. No sequence is longer than what fits.',
      ),
    logprobs,
    entropies: z
      .boolean()
      .optional()
      .describe(
        'Whether trajectories hold the mean entropy of each step, for rules that read it. Local models only.',
      ),
    baseLogprobs: z
      .boolean()
      .optional()
      .describe(
        'Whether trajectories hold the log-prob of each step under version 0, for rules that read it. It takes the memory of a second model. Local models only.',
      ),
    trainReasoning,
  }),
}).describe('The model that acts.')
