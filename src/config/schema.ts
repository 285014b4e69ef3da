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
  iterations: positive.default(60).describe('Number of iterations: RL steps.'),
  evaluateEvery: positive
    .default(20)
    .describe(
      'Number of iterations between evaluations. The policy is evaluated at the start and the end too.',
    ),
  maxStaleness: count
    .default(0)
    .describe(
      'Number of policy versions that a rollout may be behind. 0 is synchronous. With 1 an iteration begins while the one before is still trained on.',
    ),
  heartbeatSeconds: seconds
    .default(2)
    .describe('Interval of heartbeats. A worker that is silent for twice as long counts as stalled.'),
  attempts: positive.default(3).describe('Number of tries before a rollout counts as failed.'),
  workers: section({
    environment: positive.default(1).describe('Processes that play episodes.'),
    'reward-model': positive.default(1).describe('Processes that judge.'),
  }).describe('Number of processes of a role that the head starts.'),
  deadlines: section({
    llmCallSeconds: seconds.default(60).describe('One call of a language model.'),
    stepSeconds: seconds.default(90).describe('One step of an episode. Must be longer than a call.'),
    rolloutSeconds: seconds.default(600).describe('One whole rollout. Must be longer than a step.'),
    scoringSeconds: seconds
      .default(900)
      .describe('Judging one trajectory, or one group. Must be longer than a rollout.'),
    rewriteSeconds: seconds.default(120).describe('Rewriting one task.'),
    trainingSeconds: seconds.default(1800).describe('One update of a model.'),
    coldStartSeconds: seconds.default(1800).describe('Making the first version of a model.'),
    loadTasksSeconds: seconds
      .default(300)
      .describe('Loading or generating all tasks, and opening a setting of your own.'),
    silenceSeconds: seconds
      .max(600)
      .default(120)
      .describe(
        'Longest time without a heartbeat of a process that the head started. Then it is ended, and another is started.',
      ),
  }).describe('Deadlines: work that is not done by then counts as stalled.'),
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
      'A setting of your own: a package, or a TypeScript or JavaScript file, that exports `setting`. The path is from this file or the working folder. Its own keys stand in a section of its name.',
    ),
  player: z
    .enum(['own', 'gateway'])
    .default('own')
    .describe('Who plays rollouts: this run, or agents outside through `rl gateway`.'),
  source: z
    .enum(['generated', 'data'])
    .default('generated')
    .describe('Tasks are made by the generator, or read from `data`.'),
  data: z
    .string()
    .nullable()
    .default(null)
    .describe('Folder, file or archive with the tasks, for source `data`.'),
  seed: count
    .default(1)
    .describe('Root of generated tasks. Runs with other values of `run.seed` still share these tasks.'),
  difficulty: z
    .enum(['easy', 'medium', 'hard'])
    .default('easy')
    .describe('Size of generated rooms and length of their plans.'),
  tasks: positive
    .nullable()
    .default(400)
    .describe('Number of training tasks, each in a slot of its own. Null takes all.'),
  splits: z
    .record(z.string().min(1), z.string().min(1))
    .default({ train: 'train', 'in-domain': 'in-domain', ood: 'ood' })
    .describe("The run's split names and what the environment calls them, e.g. `in-domain: valid_seen`."),
  maxSteps: positive.default(20).describe('Largest number of steps of a training episode.'),
  tasksPerIteration: positive.default(16).describe('Number of training tasks that an iteration plays.'),
  rolloutsPerTask: z
    .int()
    .min(2)
    .default(8)
    .describe('Number of rollouts of each task: the size of a full group.'),
  minGroupSize: z
    .int()
    .min(2)
    .default(4)
    .describe('Smallest group that is learned from. Faults can take rollouts from a group.'),
  quarantineAfter: positive
    .default(2)
    .describe('Number of groups below `minGroupSize` after which a task is set aside.'),
  frames: z
    .boolean()
    .default(false)
    .describe(
      'Whether the screens of every step go into the log (FramesRecorded, PNG by blob), to look at episodes. If a model sees screens, they always do.',
    ),
  sampler: rule('uniform').describe(
    'How the training tasks of an iteration are chosen: drawn with equal chance (`uniform`), or by a rule of yours.',
  ),
}

/** The section with a setting's own keys besides. */
export const environmentSection = (own: z.ZodRawShape) =>
  section({ ...environmentShape, ...own } as typeof environmentShape).describe(
    'Where the tasks come from and how they are played.',
  )

const coldStart = {
  updates: count.default(700).describe('Number of optimiser steps.'),
  batch: positive
    .default(16)
    .describe('Number of samples in one optimiser step: episodes, or steps if the policy acts by prompts.'),
  learningRate: z
    .number()
    .positive()
    .default(4e-3)
    .describe('Highest learning rate. It falls linearly to 0.'),
}

const training = {
  learningRate: z
    .number()
    .positive()
    .default(6e-4)
    .describe("AdamW's learning rate. If `schedule` or `warmup` change it, the highest one."),
  schedule: z
    .enum(['constant', 'linear'])
    .default('constant')
    .describe(
      'The learning rate over the iterations of the run: constant, or falling linearly to 0 after the last.',
    ),
  warmup: count
    .default(0)
    .describe('Number of iterations over which the learning rate rises to its highest.'),
  updates: positive
    .default(4)
    .describe('Number of optimiser steps an iteration. Each sees its own part of the samples.'),
  minSamples: positive
    .default(1)
    .describe(
      'Smallest number of samples of an optimiser step. An iteration with few samples makes fewer steps.',
    ),
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
    .describe('Bound for negative advantages, as a multiple of them (10 in GRPO-TCR). Null for none.'),
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
      'Limit of the KL from the sampling policy to the present one, over the tokens of the next step. Above it, the rest of an update is left out. Null for none.',
    ),
  klHalvings: count
    .default(0)
    .describe(
      'If a step exceeds `klLimit`, it is halved up to this many times. If it is still too long, it is undone. With 0 the step stays, and the rest of the update is left out.',
    ),
  objective: z
    .enum(['clip', 'cispo', 'sapo'])
    .default('clip')
    .describe(
      "What bounds a step: PPO's clip (`clip`), clipped importance weights (`cispo`), or a soft gate that reads no clips (`sapo`).",
    ),
  ratio: z
    .enum(['token', 'sequence'])
    .default('token')
    .describe(
      'Importance ratio of each token, or the geometric mean over a sample (GSPO, with clips of about 3e-4).',
    ),
  aggregate: z
    .enum(['sample', 'batch', 'constant'])
    .default('batch')
    .describe(
      'Loss as the token mean within each `sample`, as the token mean over the `batch`, or as the sum over samples times `constantTokens` (`constant`, Dr. GRPO).',
    ),
  constantTokens: positive.default(512).describe('Divisor of `aggregate: constant`. Nothing else reads it.'),
  entropyWeight: z
    .number()
    .nonnegative()
    .default(0)
    .describe('Weight of the entropy bonus: the mean entropy of the trained tokens lowers the loss.'),
  entropyShare: z
    .number()
    .positive()
    .max(1)
    .default(1)
    .describe(
      'Share of the tokens that are trained: those of highest entropy (0.2 in "Beyond the 80/20 Rule"). Below 1 it costs one more forward pass.',
    ),
  offPolicyLimit: z
    .number()
    .positive()
    .nullable()
    .default(null)
    .describe(
      'Limit of the mean log-ratio of a sample, sampled to trained. Above it, negative advantages are left out (DeepSeek-V3.2). Null for none.',
    ),
  clipNorm: z
    .number()
    .positive()
    .nullable()
    .default(1)
    .describe('Limit of the gradient norm. Null for none.'),
  weightDecay: z.number().nonnegative().default(0).describe('Decoupled weight decay.'),
  beta1: share.default(0.9).describe("Decay of Adam's first moment."),
  beta2: share.default(0.99).describe("Decay of Adam's second moment."),
  resetOptimizer: z
    .boolean()
    .default(false)
    .describe("Whether Adam's moments are forgotten at the start of each iteration."),
  tokenBudget: positive
    .default(4096)
    .describe(
      'Largest number of tokens in one forward pass, to bound memory. If there is less room, passes are smaller.',
    ),
  layers: positive
    .nullable()
    .default(null)
    .describe('Number of upper layers that are trained. The backward pass ends below them. Null for all.'),
}

const logprobs = z
  .enum(['model', 'sampling'])
  .default('model')
  .describe(
    'Temperature of logged and learned log-probs: 1 (`model`), or that of sampling (`sampling`, local models only). With `sampling`, importance weights fit what was sampled at any temperature.',
  )

export const DEFAULT_MODEL = 'nano'

const endpoint = {
  provider: z
    .string()
    .min(1)
    .default('local')
    .describe(
      'Who runs the model: this process (`local`), an OpenAI-compatible endpoint (`openai`), nobody (`simulated`), or a provider of `models.module`.',
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
    .describe('Base URL of the OpenAI-compatible endpoint, e.g. http://localhost:8000/v1.'),
  windowTokens: positive
    .nullable()
    .default(null)
    .describe(
      'Context of the endpoint in tokens, prompt and answer. Null asks the endpoint. Prompts that would not fit lose their oldest steps.',
    ),
  extraBody: z
    .record(z.string(), z.unknown())
    .default({})
    .describe(
      'Further fields of every request to the endpoint. They replace ours, except what a key or the call itself sets.',
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
    .describe('`reasoning_effort` of every request. Null sends none.'),
  sendSeed: z
    .boolean()
    .default(true)
    .describe('Whether every request has a seed. Some servers slow down with one.'),
  apiKeyEnv: z
    .string()
    .min(1)
    .default('OPENAI_API_KEY')
    .describe('Environment variable that holds the API key. Keys never stand in a config.'),
  concurrency: positive
    .default(32)
    .describe('Largest number of calls of the endpoint at a time. More calls wait.'),
  maxCalls: positive
    .nullable()
    .default(null)
    .describe(
      'Number of calls of the endpoint in the whole run, retries included. When they are spent, the run pauses. Null for any number.',
    ),
  promptPrice: z
    .number()
    .nonnegative()
    .nullable()
    .default(null)
    .describe('Price of a million prompt tokens, for counting cost. Null if unknown.'),
  completionPrice: z
    .number()
    .nonnegative()
    .nullable()
    .default(null)
    .describe('Price of a million completion tokens. Null if unknown.'),
}

const trainer = z
  .enum(['own', 'external'])
  .default('own')
  .describe(
    'Who makes new versions: the worker (`own`), or a trainer outside that answers BatchReady within `run.deadlines.trainingSeconds`.',
  )

const trainReasoning = z
  .boolean()
  .default(false)
  .describe('Whether reasoning that an endpoint tells apart from its answer is trained too.')

const publish = section({
  as: z
    .enum(['none', 'lora', 'model'])
    .default('none')
    .describe(
      'How new versions are loaded into the servers: not at all, as an adapter (`lora`), or as a whole folder (`model`).',
    ),
  routes: z
    .enum(['vllm', 'sglang'])
    .default('vllm')
    .describe(
      'Whose routes the servers have: those of vLLM and `rl serve`, or those of SGLang. On SGLang, a whole model replaces the weights.',
    ),
  replicas: z
    .array(z.url())
    .default([])
    .describe(
      'Base URLs of all servers of the model, in the form of `baseUrl`. An empty list means `baseUrl` alone.',
    ),
  ackSeconds: seconds
    .default(120)
    .describe('Longest time to load a version. A slower server is left out for this version.'),
  drainSeconds: seconds
    .default(120)
    .describe('Longest time that an old version waits for calls under way before it is unloaded.'),
  keep: positive.default(2).describe('Number of versions that stay loaded, the newest included.'),
}).describe('Bringing versions to servers that load weights at run time.')

const policy = section({
  ...endpoint,
  acting: z
    .enum(['choices', 'free', 'numbered'])
    .default('choices')
    .describe(
      'How the model acts: it generates an admissible command under a trie (`choices`), writes text (`free`), or picks a numbered option in a box (`numbered`). If the setting takes texts, `free` is the default.',
    ),
  thinking: z
    .boolean()
    .nullable()
    .default(null)
    .describe(
      '`enable_thinking` for the chat template of a local model that acts by prompts. Null sets nothing. Choices are made without thinking.',
    ),
  contextTokens: positive
    .default(512)
    .describe(
      'Longest episode in tokens if commands are chosen. It is the whole context of a model that is trained from scratch.',
    ),
  cacheMegabytes: positive
    .default(256)
    .describe(
      'Memory for keys and values of a local model, all episodes together. No sequence is longer than what fits.',
    ),
  lora: section({
    rank: positive
      .nullable()
      .default(null)
      .describe(
        'Rank of a low-rank adapter on the folder that `model` names. Only the adapter is trained. Null trains all weights.',
      ),
    alpha: z
      .number()
      .positive()
      .nullable()
      .default(null)
      .describe('Scale of the adapter times the rank. Null is twice the rank.'),
    targets: z
      .array(z.string().min(1))
      .min(1)
      .default(['q_proj', 'k_proj', 'v_proj', 'o_proj', 'gate_proj', 'up_proj', 'down_proj'])
      .describe('Modules that have an adapter.'),
  }).describe(
    'A low-rank adapter. With a rank, version 0 is taught on the demonstrations of `coldStart`, for each way of acting on commands.',
  ),
  temperature: z.number().nonnegative().default(1).describe('Temperature of sampling in training rollouts.'),
  topP: share.default(1).describe('Nucleus of sampling in training rollouts.'),
  logprobs,
  maxTokens: positive.default(24).describe('Largest number of tokens of one action, reasoning included.'),
  historySteps: positive
    .nullable()
    .default(null)
    .describe('Number of earlier steps that a prompt shows. Null shows all.'),
  frames: count
    .default(0)
    .describe(
      'Number of screens that a prompt shows, the newest last, for models that see. `environment.grammar` is the form of their actions. 0 for models that read text.',
    ),
  coldStart: section({
    demonstrations: positive.default(5000).describe('Number of expert episodes to imitate.'),
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
    ...coldStart,
  }).describe('How version 0 of a local model is made. It is kept in a cache by content.'),
  trainer,
  trainReasoning,
  publish,
  training: section({
    enabled: z
      .boolean()
      .default(true)
      .describe('Whether the policy is trained. If not, it stays at version 0.'),
    ...training,
  }).describe('The update of an iteration.'),
}).describe('The model that acts.')

const rewardModel = section({
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
  samples: positive.default(1).describe('Number of judgements of each step (m).'),
  temperature: z.number().nonnegative().default(1).describe('Temperature of judging.'),
  logprobs,
  topP: share.default(1).describe('Nucleus of judging.'),
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
  accuracyRange: z
    .tuple([share, share])
    .default([0.2, 0.8])
    .describe('Only tasks whose accuracy lies in this range train the reward model.'),
  coldStart: section({
    rollouts: positive
      .default(1000)
      .describe('Number of rollouts of policy version 0, labelled by true progress.'),
    flippedLabels: share.default(0.1).describe('Share of labels that are flipped.'),
    ...coldStart,
    updates: count.default(200).describe('Number of optimiser steps.'),
    learningRate: z
      .number()
      .positive()
      .default(5e-3)
      .describe('Highest learning rate. It falls linearly to 0.'),
  }).describe("How version 0 of a local model is made, from the policy's version 0."),
  trainer,
  trainReasoning,
  publish,
  training: section({
    ...training,
    learningRate: z.number().positive().default(3e-4).describe('Constant learning rate of AdamW.'),
    updates: positive
      .default(2)
      .describe('Number of optimiser steps an iteration. Each sees its own part of the samples.'),
  }).describe('The update of an iteration.'),
}).describe('The model that judges steps.')

const models = section({
  module: z
    .string()
    .min(1)
    .nullable()
    .default(null)
    .describe('Path or package of a module with providers of language models of your own.'),
}).describe('Providers of language models of your own.')

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
    'Reward of a step: `outcome` only, `integrated` (outcome + lambda * mean verdict), `progress` (outcome + lambda * true progress), `reward-model` (verdicts alone), or a rule of yours.',
  ),
  lambda: z.number().nonnegative().default(0.3).describe('Weight of the step part.'),
  advantage: rule('task').describe(
    'How rewards become advantages. They are standardised over the rollouts at the same step (`step-index`, as published), over all steps of the `task`, against the other rollouts (`leave-one-out`), with outcome and step parts apart (`separate`), or by a rule of yours.',
  ),
  filter: rule('accuracy').describe(
    'Which tasks train the policy: by `accuracy` (`policyAccuracyRange` and `mixedOutcomes`), or by a rule of yours.',
  ),
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
  scale: z
    .enum(['group', 'batch', 'none'])
    .default('group')
    .describe(
      'Divisor of `step-index` and `task`: the standard deviation of the group, that of all rewards of the batch, or none (Dr. GRPO).',
    ),
  deviation: z
    .enum(['population', 'sample'])
    .default('population')
    .describe(
      "Standard deviations divide by n (`population`), or by n - 1 (`sample`: Bessel's correction, as in TRL).",
    ),
  policyAccuracyRange: z
    .tuple([share, share])
    .nullable()
    .default(null)
    .describe('Only tasks whose accuracy lies in this range train the policy. Null takes all.'),
  truncated: z
    .enum(['train', 'mask'])
    .default('train')
    .describe(
      'Rollouts that the limit of steps or a full context cut off: they train as any other (`train`), or count in their group alone (`mask`, the "overlong filtering" of DAPO).',
    ),
  mixedOutcomes: z
    .union([z.boolean(), z.literal('graded')])
    .default(true)
    .describe(
      'Whether only tasks with successes and failures train the policy. `graded` takes tasks whose outcomes differ, such as a draw and a loss.',
    ),
}).describe('From outcomes and verdicts to advantages.')

const adaptation = section({
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
    'When a candidate is accepted: between the thresholds (`strict`), also on them (`inclusive`), or by a rule of yours.',
  ),
  evidence: z
    .enum(['point', 'bayes'])
    .default('bayes')
    .describe(
      'A candidate is accepted by its measured accuracy (`point`), or by the posterior probability that the rule holds (`bayes`).',
    ),
  confidence: share.default(0.8).describe('Posterior probability that `bayes` asks for.'),
  prior: z
    .tuple([z.number().positive(), z.number().positive()])
    .default([1, 1])
    .describe('Pseudo-counts of successes and failures of the Beta prior, for `bayes`.'),
  rewriter: z
    .enum(['symbolic', 'language-model'])
    .default('symbolic')
    .describe("Who rewrites: the setting's own rules, or a language model."),
  ...endpoint,
  provider: z.string().min(1).default('openai').describe('Provider of the language model that rewrites.'),
  model: z.string().min(1).default('gpt-4o-mini').describe('The language model that rewrites.'),
  samples: positive
    .default(8)
    .describe(
      'Number of answers of the language model for a candidate. The first that the environment takes is proposed.',
    ),
  temperature: z
    .number()
    .nonnegative()
    .default(1)
    .describe('Temperature of the language model that rewrites.'),
  maxTokens: positive.default(2048).describe('Largest number of tokens of one of its answers.'),
  critiques: positive.default(8).describe('Largest number of distinct critiques that a rewriter sees.'),
}).describe('Tasks become harder or easier.')

const evaluation = section({
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
  judge: z
    .boolean()
    .default(false)
    .describe(
      'Whether these trajectories are judged too. This measures the reward model on tasks that nothing is trained on.',
    ),
}).describe('Measuring the policy on fixed tasks and seeds.')

const log = section({
  keepFreeMegabytes: count.default(512).describe('The run pauses if less disk space is left.'),
}).describe('The event log.')

const projections = section({
  modules: z
    .array(z.string().min(1))
    .default([])
    .describe('Paths or packages of modules with projections of your own. `rl projections` shows them.'),
}).describe('Tables that follow from the log.')

const simulation = section({
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
      'Number of threads of the native BLAS of each local model. More are worth it from some 100 million parameters. Sums differ in their last digits.',
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
