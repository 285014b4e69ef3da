/** Every key of a run's configuration, with its default and its meaning. docs/config.md is generated from here. */
import { z } from 'zod'

const seconds = z.number().positive()
const count = z.int().nonnegative()
const positive = z.int().positive()
const share = z.number().min(0).max(1)
/** An object whose keys all have defaults: it may be left out. */
const section = <Shape extends z.ZodRawShape>(shape: Shape) =>
  z.strictObject(shape).prefault({} as z.input<z.ZodObject<Shape>>)

const run = section({
  seed: count.default(1).describe('Root of every random draw: equal seeds give equal runs.'),
  iterations: positive.default(60).describe('RL steps.'),
  evaluateEvery: positive
    .default(20)
    .describe('The policy is evaluated at the start, after every so many iterations, and at the end.'),
  maxStaleness: count
    .default(0)
    .describe(
      'How many policy versions a rollout may be behind. 0 is synchronous; 1 lets an iteration begin while the one before is still trained on.',
    ),
  heartbeatSeconds: seconds
    .default(2)
    .describe('A worker that says nothing for twice as long counts as stalled.'),
  attempts: positive.default(3).describe('How often a rollout is tried before it counts as failed.'),
  workers: section({
    environment: positive.default(1).describe('Processes that play episodes.'),
    'reward-model': positive.default(1).describe('Processes that judge.'),
  }).describe('How many processes of a role the head starts.'),
  deadlines: section({
    llmCallSeconds: seconds.default(60).describe('One call of a language model.'),
    stepSeconds: seconds.default(90).describe('One step of an episode; more than a call.'),
    rolloutSeconds: seconds.default(600).describe('One whole rollout; more than a step.'),
    scoringSeconds: seconds
      .default(900)
      .describe('Judging one trajectory (or one group); more than a rollout.'),
    rewriteSeconds: seconds.default(120).describe('Rewriting one task.'),
    trainingSeconds: seconds.default(1800).describe('One update of a model.'),
    coldStartSeconds: seconds.default(1800).describe('Making the first version of a model.'),
    loadTasksSeconds: seconds
      .default(300)
      .describe('Loading or generating all tasks; before that, opening a setting of your own.'),
    silenceSeconds: seconds
      .max(600)
      .default(120)
      .describe(
        'Heartbeats of a process that the head started: after so long without one it is ended, and another started.',
      ),
  }).describe('When something awaited counts as stalled.'),
}).describe('The run as a whole.')

/** The name of a rule: one of ours, or of the module that `learning.module` names. */
const rule = (ours: string) => z.string().min(1).default(ours)

/** Of every setting; what a setting has of its own is added by who knows them all (src/config.ts). */
export const environmentShape = {
  name: z
    .string()
    .min(1)
    .default('alfworld')
    .describe(
      'Which setting: `alfworld`, `coding`, `web`, `desktop`, `agents` (tasks that only agents outside can play), `simulated`; that of a module has its own name.',
    ),
  module: z
    .string()
    .min(1)
    .nullable()
    .default(null)
    .describe(
      'A setting that is not ours: a TypeScript or JavaScript file (a path from this file or the working folder) or a package that exports `setting`. Its own keys stand in a section of its name.',
    ),
  player: z
    .enum(['own', 'gateway'])
    .default('own')
    .describe('Who plays rollouts: this run itself, or agents outside through `rl gateway`.'),
  source: z
    .enum(['generated', 'data'])
    .default('generated')
    .describe('Tasks made by the generator, or read from `data`.'),
  data: z
    .string()
    .nullable()
    .default(null)
    .describe('Folder, file or archive with the tasks, for source `data`.'),
  seed: count
    .default(1)
    .describe(
      'Root of generated tasks: runs with other seeds of their own still share the tasks of this one.',
    ),
  difficulty: z
    .enum(['easy', 'medium', 'hard'])
    .default('easy')
    .describe('Size of generated rooms and length of their plans.'),
  tasks: positive
    .nullable()
    .default(400)
    .describe('Training tasks, each in a slot of its own; null takes all that there are.'),
  splits: z
    .record(z.string().min(1), z.string().min(1))
    .default({ train: 'train', 'in-domain': 'in-domain', ood: 'ood' })
    .describe("The run's split names and what the environment calls them, e.g. `in-domain: valid_seen`."),
  maxSteps: positive.default(20).describe('Most steps of a training episode.'),
  tasksPerIteration: positive.default(16).describe('Training tasks that an iteration plays.'),
  rolloutsPerTask: z.int().min(2).default(8).describe('Rollouts of each task: the size of a full group.'),
  minGroupSize: z
    .int()
    .min(2)
    .default(4)
    .describe('Groups that lost more rollouts to faults than leave so many are not learned from.'),
  quarantineAfter: positive
    .default(2)
    .describe('A task is set aside after so many of its groups fell below `minGroupSize`.'),
  frames: z
    .boolean()
    .default(false)
    .describe(
      'Screens of every step go into the log (FramesRecorded, PNG by blob), so that an episode can be looked at; they do whenever a model sees them.',
    ),
  sampler: rule('uniform').describe(
    'Which training tasks an iteration plays: drawn alike (`uniform`), or by a rule of yours.',
  ),
}

/** The section with a setting's own keys besides. */
export const environmentSection = (own: z.ZodRawShape) =>
  section({ ...environmentShape, ...own } as typeof environmentShape).describe(
    'Where the tasks come from and how they are played.',
  )

const coldStart = {
  updates: count.default(700).describe('Optimiser steps.'),
  batch: positive
    .default(16)
    .describe('Samples in one optimiser step: episodes, or steps where a policy acts by prompts.'),
  learningRate: z
    .number()
    .positive()
    .default(4e-3)
    .describe('Highest learning rate; it falls linearly to 0.'),
}

const training = {
  learningRate: z
    .number()
    .positive()
    .default(6e-4)
    .describe("AdamW's learning rate, the highest where `schedule` or `warmup` change it."),
  schedule: z
    .enum(['constant', 'linear'])
    .default('constant')
    .describe(
      'The learning rate over the iterations of the run: constant, or falling linearly to 0 behind the last.',
    ),
  warmup: count
    .default(0)
    .describe('Iterations over which the learning rate rises, before it is at its highest.'),
  updates: positive
    .default(4)
    .describe('Optimiser steps an iteration; each sees its own part of the samples.'),
  minSamples: positive
    .default(1)
    .describe('Least samples of an optimiser step: an iteration with few of them makes fewer steps.'),
  clipLow: z.number().positive().default(0.2).describe('The ratio is clipped below 1 - this.'),
  clipHigh: z
    .number()
    .positive()
    .default(0.2)
    .describe('The ratio is clipped above 1 + this (0.28 in GRPO-TCR).'),
  dualClip: z
    .number()
    .min(1)
    .nullable()
    .default(null)
    .describe('Bound for negative advantages as a multiple of them; null for none (10 in GRPO-TCR).'),
  klWeight: z.number().nonnegative().default(0.01).describe('Weight of the k3 KL estimate.'),
  klReference: z
    .enum(['iteration', 'base'])
    .default('iteration')
    .describe('KL to the model at the start of the iteration, or to version 0.'),
  klLimit: z
    .number()
    .positive()
    .nullable()
    .default(0.1)
    .describe(
      'KL of the policy that sampled to the present one, over the tokens of the next step, above which the rest of an update is left out; null for none.',
    ),
  klHalvings: count
    .default(0)
    .describe(
      'How often an update may halve a step that went beyond `klLimit`, before the step is taken back; 0: it stays, and only the rest is left out.',
    ),
  objective: z
    .enum(['clip', 'cispo', 'sapo'])
    .default('clip')
    .describe(
      "What bounds a step: PPO's clip, clipped importance weights (CISPO), or a soft gate (SAPO, which reads no clips).",
    ),
  ratio: z
    .enum(['token', 'sequence'])
    .default('token')
    .describe('Of each token, or the geometric mean over a sample (GSPO; its clips are about 3e-4).'),
  aggregate: z
    .enum(['sample', 'batch', 'constant'])
    .default('batch')
    .describe(
      'Token mean within each sample, over all tokens of the batch, or the sum over samples times `constantTokens` (Dr. GRPO).',
    ),
  constantTokens: positive.default(512).describe('Read by `aggregate: constant` alone.'),
  entropyWeight: z
    .number()
    .nonnegative()
    .default(0)
    .describe('Weight of the entropy bonus: the mean entropy of the trained tokens, which lowers the loss.'),
  entropyShare: z
    .number()
    .positive()
    .max(1)
    .default(1)
    .describe(
      'Share of the tokens, those of the highest entropy, that the objective is about (0.2 in "Beyond the 80/20 Rule"). Below 1 it costs one more forward pass.',
    ),
  offPolicyLimit: z
    .number()
    .positive()
    .nullable()
    .default(null)
    .describe(
      'Mean log-ratio of a sample, sampled to trained, above which its negative advantages are left out (DeepSeek-V3.2); null for none.',
    ),
  clipNorm: z
    .number()
    .positive()
    .nullable()
    .default(1)
    .describe('Limit of the gradient norm; null for none.'),
  weightDecay: z.number().nonnegative().default(0).describe('Decoupled weight decay.'),
  beta1: share.default(0.9).describe("Adam's first moment."),
  beta2: share.default(0.99).describe("Adam's second moment."),
  resetOptimizer: z.boolean().default(false).describe('Forget the moments at the start of each iteration.'),
  tokenBudget: positive
    .default(4096)
    .describe('Most tokens in one forward pass: bounds memory. Where there is less room passes are smaller.'),
  layers: positive
    .nullable()
    .default(null)
    .describe(
      'So many of the upper layers alone are trained: the backward pass ends below them. Null for all.',
    ),
}

const logprobs = z
  .enum(['model', 'sampling'])
  .default('model')
  .describe(
    'Log-probs are logged and learned from at temperature 1, or at the temperature of sampling (local models): at other temperatures than 1 importance weights are those of what was sampled.',
  )

export const DEFAULT_MODEL = 'nano'

const endpoint = {
  provider: z
    .string()
    .min(1)
    .default('local')
    .describe(
      'In this process (`local`), behind an OpenAI-compatible endpoint (`openai`), `simulated` (no model at all), or one of `models.module`.',
    ),
  model: z
    .string()
    .min(1)
    .default(DEFAULT_MODEL)
    .describe('Preset (`nano`, `tiny`), Hugging Face folder, or the name that the endpoint knows.'),
  baseUrl: z
    .url()
    .nullable()
    .default(null)
    .describe('Of the OpenAI-compatible endpoint, e.g. http://localhost:8000/v1.'),
  windowTokens: positive
    .nullable()
    .default(null)
    .describe(
      'Context of the endpoint in tokens, prompt and answer; null asks it. Prompts that would not fit lose their oldest steps.',
    ),
  extraBody: z
    .record(z.string(), z.unknown())
    .default({})
    .describe(
      'Further fields of every request to the endpoint; they stand over ours, but none over what a key or the call itself sets.',
    ),
  template: z
    .record(z.string(), z.unknown())
    .default({})
    .describe('`chat_template_kwargs` of every request, e.g. `enable_thinking: false`.'),
  reasoningEffort: z
    .string()
    .min(1)
    .nullable()
    .default(null)
    .describe('`reasoning_effort` of every request; null sends none.'),
  sendSeed: z
    .boolean()
    .default(true)
    .describe('Whether every request has a seed, for servers that slow down with one.'),
  apiKeyEnv: z
    .string()
    .min(1)
    .default('OPENAI_API_KEY')
    .describe('Environment variable that holds the API key; keys never stand in a config.'),
  concurrency: positive.default(32).describe('Calls of the endpoint at a time; more wait.'),
  maxCalls: positive
    .nullable()
    .default(null)
    .describe(
      'Calls of the endpoint in the whole run, retries included; when they are spent the run pauses. Null for any number.',
    ),
  promptPrice: z
    .number()
    .nonnegative()
    .nullable()
    .default(null)
    .describe('Of a million prompt tokens of the endpoint, for counting cost; null where unknown.'),
  completionPrice: z
    .number()
    .nonnegative()
    .nullable()
    .default(null)
    .describe('Of a million completion tokens.'),
}

const trainer = z
  .enum(['own', 'external'])
  .default('own')
  .describe(
    'Who makes new versions: the worker itself, or a trainer outside that answers BatchReady within `run.deadlines.trainingSeconds`.',
  )

const trainReasoning = z
  .boolean()
  .default(false)
  .describe('Whether reasoning that an endpoint tells apart from its answer is trained as well.')

const publish = section({
  as: z
    .enum(['none', 'lora', 'model'])
    .default('none')
    .describe('Whether new versions are loaded into the servers at `baseUrl`, as adapter or whole folder.'),
  routes: z
    .enum(['vllm', 'sglang'])
    .default('vllm')
    .describe(
      'How the servers are told: as vLLM and `rl serve` have it, or as SGLang, where a whole model replaces the weights that are there.',
    ),
  replicas: z
    .array(z.url())
    .default([])
    .describe('Base URLs of all servers of the model, as `baseUrl` is written; none is `baseUrl` alone.'),
  ackSeconds: seconds
    .default(120)
    .describe('A server that has not loaded a version by then is left out of it.'),
  drainSeconds: seconds
    .default(120)
    .describe('How long an old version is kept for calls under way before it is unloaded.'),
  keep: positive.default(2).describe('Versions that stay loaded, the newest included.'),
}).describe('Bringing versions to servers that load weights at run time.')

const policy = section({
  ...endpoint,
  acting: z
    .enum(['choices', 'free', 'numbered'])
    .default('choices')
    .describe(
      'Generates one of the admissible commands under a trie; free text; or picks a numbered option in a box. Where the setting takes texts, free is the default.',
    ),
  thinking: z
    .boolean()
    .nullable()
    .default(null)
    .describe(
      'What the chat template of a local model is told (`enable_thinking`) where it acts by prompts; null for nothing. Choices are made without.',
    ),
  contextTokens: positive
    .default(512)
    .describe(
      'Longest episode in tokens where commands are chosen; the whole context of a model that is trained from scratch.',
    ),
  cacheMegabytes: positive
    .default(256)
    .describe(
      'Of keys and values of a local model, all episodes together; no sequence is longer than what fits.',
    ),
  lora: section({
    rank: positive
      .nullable()
      .default(null)
      .describe(
        'Of a low-rank adapter that alone is trained, on the folder that `model` names; null trains all weights.',
      ),
    alpha: z
      .number()
      .positive()
      .nullable()
      .default(null)
      .describe('Its scale times the rank; null is twice the rank.'),
    targets: z
      .array(z.string().min(1))
      .min(1)
      .default(['q_proj', 'k_proj', 'v_proj', 'o_proj', 'gate_proj', 'up_proj', 'down_proj'])
      .describe('Modules that have one.'),
  }).describe(
    'With a rank, version 0 is taught on the demonstrations of `coldStart`, however it acts on commands.',
  ),
  temperature: z.number().nonnegative().default(1).describe('Of sampling in training rollouts.'),
  topP: share.default(1).describe('Nucleus of sampling in training rollouts.'),
  logprobs,
  maxTokens: positive.default(24).describe('Most tokens of one action, reasoning included.'),
  historySteps: positive
    .nullable()
    .default(null)
    .describe('Earlier steps that a prompt shows; null shows all.'),
  frames: count
    .default(0)
    .describe(
      'Screens that a prompt shows, the newest last, for models that see; the form of their actions is that of the setting (`environment.grammar`). 0 for models that read text.',
    ),
  coldStart: section({
    demonstrations: positive.default(5000).describe('Expert episodes to imitate.'),
    difficulty: z
      .enum(['easy', 'medium', 'hard'])
      .nullable()
      .default(null)
      .describe('Of the generated tasks that are demonstrated; null for that of the environment.'),
    expertNoise: share.default(0.32).describe('Share of random commands in them; failures are kept.'),
    ...coldStart,
  }).describe('Version 0 of a local model, kept in a cache by content.'),
  trainer,
  trainReasoning,
  publish,
  training: section({
    enabled: z.boolean().default(true).describe('Off: the policy stays at version 0.'),
    ...training,
  }).describe('The update of an iteration.'),
}).describe('The model that acts.')

const rewardModel = section({
  ...endpoint,
  mode: z
    .enum(['off', 'fixed', 'co-trained'])
    .default('co-trained')
    .describe('No judge at all, one that stays as it is, or one that learns.'),
  judging: z
    .enum(['trajectory', 'group'])
    .default('trajectory')
    .describe('Judge each trajectory as it comes, or all rollouts of a task together (unit tests).'),
  samples: positive.default(1).describe('Judgements of each step (m).'),
  temperature: z.number().nonnegative().default(1).describe('Of judging.'),
  logprobs,
  topP: share.default(1).describe('Nucleus of judging.'),
  maxTokens: positive.default(8).describe('Most tokens of one judgement, critique included.'),
  frames: z
    .boolean()
    .default(false)
    .describe('A judge that sees is shown the screens before and after each step.'),
  expected: z
    .boolean()
    .default(true)
    .describe('Use p(good) - p(bad) in place of the mean of the samples, where the model tells it.'),
  normalisation: z
    .enum(['within-task', 'within-step', 'none'])
    .default('within-task')
    .describe("Over what the reward model's reward is standardised; `within-step` is the published one."),
  balanceVerdicts: z
    .boolean()
    .default(true)
    .describe('Pushes towards good and towards bad verdicts weigh the same over the batch.'),
  measuredRollouts: count
    .nullable()
    .default(2)
    .describe(
      'Rollouts of a training group whose verdicts are measured against true progress; null for all. Evaluations are measured whole.',
    ),
  invalidReward: z.number().default(-2).describe('Reward of a judgement that no rule could read.'),
  novelTests: z
    .boolean()
    .default(false)
    .describe(
      'Only written tests earn whose input is none that the task shows: one that repeats an example earns as one that cannot be read.',
    ),
  accuracyRange: z
    .tuple([share, share])
    .default([0.2, 0.8])
    .describe('Only tasks whose accuracy lies in this range train the reward model.'),
  coldStart: section({
    rollouts: positive.default(1000).describe('Rollouts of policy version 0, labelled by true progress.'),
    flippedLabels: share.default(0.1).describe('Share of labels turned round.'),
    ...coldStart,
    updates: count.default(200).describe('Optimiser steps.'),
    learningRate: z
      .number()
      .positive()
      .default(5e-3)
      .describe('Highest learning rate; it falls linearly to 0.'),
  }).describe("Version 0 of a local model, from the policy's version 0."),
  trainer,
  trainReasoning,
  publish,
  training: section({
    ...training,
    learningRate: z.number().positive().default(3e-4).describe('Constant learning rate of AdamW.'),
    updates: positive
      .default(2)
      .describe('Optimiser steps an iteration; each sees its own part of the samples.'),
  }).describe('The update of an iteration.'),
}).describe('The model that judges steps.')

const models = section({
  module: z
    .string()
    .min(1)
    .nullable()
    .default(null)
    .describe('Path or package of a module with providers of language models of your own.'),
}).describe('Where language models come from.')

const learning = section({
  module: z
    .string()
    .min(1)
    .nullable()
    .default(null)
    .describe(
      'Path or package of a module with rules of your own: step rewards, advantages, filters, samplers, acceptance.',
    ),
  reward: rule('integrated').describe(
    '`outcome` only, `integrated`: outcome + lambda * mean verdict, `progress`: outcome + lambda * true progress, `reward-model`: verdicts alone; or a rule of yours.',
  ),
  lambda: z.number().nonnegative().default(0.3).describe('Weight of the step part.'),
  advantage: rule('task').describe(
    'Standardised over the rollouts at the same step (`step-index`, as published), over all steps of the `task`, against the other rollouts (`leave-one-out`), or outcome and step parts apart (`separate`); or a rule of yours.',
  ),
  filter: rule('accuracy').describe(
    'Which tasks train the policy: by `accuracy`, as the two keys below say, or a rule of yours.',
  ),
  single: z
    .enum(['zero', 'raw'])
    .default('zero')
    .describe('Advantage of a step that only one rollout reached: none, or its bare reward.'),
  stdFloor: z.number().nonnegative().default(0).describe('Least standard deviation of a group.'),
  overlong: section({
    maxTokens: positive
      .nullable()
      .default(null)
      .describe('Longest rollout in sampled tokens; null for no penalty.'),
    bufferTokens: positive
      .default(4096)
      .describe('Tokens before the limit over which the penalty grows from 0 to `factor`.'),
    factor: z.number().nonnegative().default(1).describe('Penalty at the limit and beyond.'),
  }).describe('Soft penalty on long rollouts, taken from what the outcome is worth (GRPO-TCR).'),
  scale: z
    .enum(['group', 'batch', 'none'])
    .default('group')
    .describe(
      'What `step-index` and `task` divide by: the standard deviation of the group, that of all rewards of the batch, or nothing (Dr. GRPO).',
    ),
  deviation: z
    .enum(['population', 'sample'])
    .default('population')
    .describe("Of standard deviations: divided by n, or by n - 1 (Bessel's correction, as TRL has it)."),
  policyAccuracyRange: z
    .tuple([share, share])
    .nullable()
    .default(null)
    .describe('Only tasks whose accuracy lies in this range train the policy; null takes all.'),
  truncated: z
    .enum(['train', 'mask'])
    .default('train')
    .describe(
      'What becomes of rollouts that the limit of steps or a full context cut off: they are trained as any other, or count in their group alone (DAPO, "overlong filtering").',
    ),
  mixedOutcomes: z
    .union([z.boolean(), z.literal('graded')])
    .default(true)
    .describe(
      'Only tasks with both successes and failures train the policy; `graded`: those whose outcomes differ, such as a draw and a loss.',
    ),
}).describe('From outcomes and verdicts to advantages.')

const adaptation = section({
  enabled: z.boolean().default(true).describe('Off: the tasks stay as they are.'),
  low: share.default(0.2).describe('A task at or below this accuracy is to become easier.'),
  high: share.default(0.8).describe('A task at or above this accuracy is to become harder.'),
  candidates: z
    .enum(['beside', 'within'])
    .default('beside')
    .describe(
      'Candidates are played beside `tasksPerIteration` training tasks, or within that number: then an iteration plays as many rollouts with adaptation as without.',
    ),
  rule: rule('strict').describe(
    'When a candidate is accepted: between the thresholds (`strict`), on them too (`inclusive`), or a rule of yours.',
  ),
  evidence: z
    .enum(['point', 'bayes'])
    .default('bayes')
    .describe('Accept by the measured accuracy, or by the posterior probability that the rule holds.'),
  confidence: share.default(0.8).describe('Posterior probability that `bayes` asks for.'),
  prior: z
    .tuple([z.number().positive(), z.number().positive()])
    .default([1, 1])
    .describe('Pseudo-counts of successes and failures of the Beta prior, for `bayes`.'),
  rewriter: z
    .enum(['symbolic', 'language-model'])
    .default('symbolic')
    .describe("The environment's own rules, or a language model."),
  ...endpoint,
  provider: z.string().min(1).default('openai').describe('Of the language model that rewrites.'),
  model: z.string().min(1).default('gpt-4o-mini').describe('The language model that rewrites.'),
  samples: positive
    .default(8)
    .describe(
      'Answers of the language model for a candidate; the first that the environment takes is proposed.',
    ),
  temperature: z.number().nonnegative().default(1).describe('Of the language model that rewrites.'),
  maxTokens: positive.default(2048).describe('Most tokens of one of its answers.'),
  critiques: positive.default(8).describe('Most distinct critiques that a rewriter is shown.'),
}).describe('Tasks become harder or easier.')

const evaluation = section({
  splits: z
    .array(z.string().min(1))
    .default(['in-domain', 'ood'])
    .describe('Splits that are evaluated; none turns evaluation off.'),
  tasks: positive.nullable().default(64).describe('Tasks of each split; null takes all.'),
  rollouts: positive.default(1).describe('Rollouts of each task.'),
  maxSteps: positive.nullable().default(null).describe('Most steps; null as in training.'),
  temperature: z
    .number()
    .nonnegative()
    .nullable()
    .default(null)
    .describe('Of sampling; null as in training.'),
  topP: share.nullable().default(null).describe('Nucleus of sampling; null as in training.'),
  judge: z
    .boolean()
    .default(false)
    .describe(
      'Judge these trajectories too: quality of the reward model on tasks that nothing is trained on.',
    ),
}).describe('Measuring the policy on fixed tasks and seeds.')

const log = section({
  keepFreeMegabytes: count.default(512).describe('The run pauses when less disk space is left.'),
}).describe('The event log.')

const projections = section({
  modules: z
    .array(z.string().min(1))
    .default([])
    .describe('Paths or packages of modules with projections of your own; shown by `rl projections`.'),
}).describe('Tables that follow from the log.')

const simulation = section({
  policyAccuracy: share
    .default(0.5)
    .describe(
      'Coding: share of right programs; the others are reference solutions with one fault. Where actions are chosen: share of rollouts that follow the expert.',
    ),
  learningRate: z.number().nonnegative().default(0.03).describe('How fast success grows with training.'),
  judgeAccuracy: share
    .default(0.7)
    .describe('Process accuracy of the simulated judge at the start; coding: share of right unit tests.'),
  failureShare: share.default(0).describe('Share of rollouts that fail for no fault of the policy.'),
  steps: positive.default(8).describe('Mean steps of an episode.'),
}).describe('Only read where a provider is `simulated`.')

export const configSchema = z.strictObject({
  run,
  environment: environmentSection({}),
  policy,
  rewardModel,
  models,
  learning,
  adaptation,
  evaluation,
  backend: z
    .enum(['auto', 'tensorflow-gpu', 'tensorflow', 'webgpu', 'wasm-blas', 'wasm', 'cpu'])
    .default('auto')
    .describe('Tensor backend: `auto`, or one that must be used, e.g. `wasm`.'),
  threads: positive
    .default(1)
    .describe(
      'Threads of the native BLAS of each local model. More are worth it from some 100 million parameters on; sums differ in their last digits.',
    ),
  log,
  projections,
  simulation,
})

type DeepReadonly<T> = T extends readonly (infer Item)[]
  ? number extends T['length']
    ? readonly DeepReadonly<Item>[]
    : { readonly [K in keyof T]: DeepReadonly<T[K]> }
  : T extends object
    ? { readonly [K in keyof T]: DeepReadonly<T[K]> }
    : T

export type Config = DeepReadonly<z.output<typeof configSchema>>
