/** The section `run`. */
import { z } from 'zod'
import { count, expert, positive, seconds, section } from './values.ts'

export const run = section({
  seed: count.default(1).describe('Root of every random draw: equal seeds give equal runs.'),
  iterations: positive.default(60).describe('Number of iterations: RL steps.'),
  minutes: z
    .number()
    .positive()
    .max(525_600)
    .optional()
    .describe(
      'Minutes that the run may take. The iteration that is expected to end by then is the last one. Pauses do not count.',
    ),
  steps: positive
    .optional()
    .describe(
      'Steps that the training rollouts of the run may play. The iteration that is expected to end nearest to it is the last one. A branch counts its own steps alone.',
    ),
  evaluateEvery: positive
    .default(20)
    .describe(
      'Number of iterations between evaluations. The policy is evaluated at the start and the end too.',
    ),
  phases: z
    .array(
      z.strictObject({
        from: positive.describe('First iteration of the phase.'),
        kinds: z.array(z.string().min(1)).min(1).optional().describe('Kinds of tasks that are played.'),
        maxSteps: positive.optional().describe('Limit of steps, at most `environment.maxSteps`.'),
      }),
    )
    .min(1)
    .optional()
    .describe(
      'Phases of the run: the one that began last holds. What a phase leaves open is as without phases.',
    ),
  store: z
    .string()
    .regex(
      /^s3:\/\/[a-z0-9][a-z0-9.-]{1,61}[a-z0-9](\/[A-Za-z0-9._-]+)*$/,
      'expected s3://BUCKET or s3://BUCKET/PREFIX',
    )
    .optional()
    .describe(
      'Store for the files of checkpoints that go to other hosts, and for columns of trajectories above 256 kB: `s3://BUCKET/PREFIX`. Without it they lie in the log. Keys stand in the environment of each host (AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_REGION, AWS_ENDPOINT_URL).',
    ),
  keepVersions: z
    .int()
    .min(2)
    .max(100_000)
    .optional()
    .describe(
      'Number of newest versions of each model whose weights stay on the disk. Older ones are deleted after each iteration, except the first, and those that a fork on this disk goes on from. Default: all stay.',
    ),
  maxStaleness: count
    .default(0)
    .describe(
      'Number of policy versions that a rollout may be behind. 0 is synchronous. With 1 an iteration begins while the one before is still trained on. A local policy then holds up to two models more.',
    ),
  barrier: z
    .boolean()
    .optional()
    .describe(
      'With `maxStaleness` above 0: whether an iteration waits until all rollouts of the one before are over. A new run says `false` if it has tasks enough: rollouts are asked for as new versions come, so no host waits for the slowest rollout. Runs that say nothing wait.',
    ),
  replicas: z
    .int()
    .min(1)
    .max(5)
    .optional()
    .describe(
      'Number of brokers of a cluster that keep the log and the queues, e.g. 3. A standby head then goes on if the host of the head ends. Default: 1.',
    ),
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
    outcomeSeconds: seconds
      .max(86_000)
      .optional()
      .describe(
        "Time in which the outcome of an agent's rollout may come after its end. Without it no outcome comes late.",
      ),
    trainingSeconds: seconds.default(1800).describe('One update of a model.'),
    expert: expert({
      rewriteSeconds: seconds.default(120).describe('Rewriting one task.'),
      coldStartSeconds: seconds.default(1800).describe('Making the first version of a model.'),
      loadTasksSeconds: seconds
        .default(300)
        .describe('Loading or generating all tasks, and opening a setting of your own.'),
      silenceSeconds: seconds
        .max(600)
        .default(120)
        .describe(
          'Longest time without a heartbeat of a process that the head started, or without a turn of its event loop. Then it is ended, and another is started.',
        ),
    }),
  }).describe('Deadlines: work that is not done by then counts as stalled.'),
  expert: expert({
    heartbeatSeconds: seconds
      .default(2)
      .describe('Interval of heartbeats. A worker that is silent for twice as long counts as stalled.'),
    attempts: positive.default(3).describe('Number of tries before a rollout counts as failed.'),
    keepFreeMegabytes: count.default(512).describe('The run pauses if less disk space is left.'),
  }),
}).describe('The run as a whole.')
