/** The section `environment`. */
import { z } from 'zod'
import { count, expert, moduleName, positive, rule, section, share } from './values.ts'

/** Keys of every setting. config/with-setting.ts adds those of the setting that a config names. */
const environmentShape = {
  name: z
    .string()
    .min(1)
    .default('alfworld')
    .describe(
      'Which setting: `alfworld`, `coding`, `web`, `desktop`, `tools`, `openenv`, `gym`, `mcp` and `ors` (environments of others), `agents` (tasks that only agents outside can play), `simulated`; that of a module has its own name.',
    ),
  module: moduleName.describe(
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
  taskTypes: z
    .array(z.string().min(1))
    .min(1)
    .optional()
    .describe('Types of tasks that are taken, by the names of the setting. Absent: all.'),
  domainRandomization: z
    .boolean()
    .optional()
    .describe(
      'Whether training tasks number the things of each kind at random, each task in its own way, by `seed` (ALFWorld).',
    ),
  frames: z
    .boolean()
    .default(false)
    .describe(
      'Whether the screens of every step go into the log (FramesRecorded, PNG by blob), to look at episodes. If a model sees screens, they always do.',
    ),
  reference: z
    .boolean()
    .optional()
    .describe("Whether trajectories hold the text of their task's own solution, for rules that read it."),
  sampler: rule('uniform').describe(
    'How the training tasks of an iteration are chosen: drawn with equal chance (`uniform`), by what they may teach (`learnability`, `thompson`), the hardest (`hard-focus`), or by a rule of yours.',
  ),
  groupSize: z
    .string()
    .min(1)
    .optional()
    .describe(
      'Rule for the number of rollouts of a task: fewer for tasks that mostly succeed (`by-success`), many for the hardest (`hard-focus`), or a rule of yours. Absent: `rolloutsPerTask`.',
    ),
  horizon: z
    .string()
    .min(1)
    .optional()
    .describe(
      'Rule for the limit of steps of a training episode: growing in `stages`, by the longest success of its task (`task-limit`), or a rule of yours. Absent: `maxSteps`.',
    ),
  hints: z
    .boolean()
    .optional()
    .describe(
      'Whether a task that nobody solved is played again with a complaint of the judge as a hint, in half of its rollouts. Only the acting model reads it: training does not.',
    ),
  starts: z
    .number()
    .min(0)
    .max(1)
    .optional()
    .describe('Share of groups that begin inside of a logged success of their task.'),
  traces: z
    .strictObject({
      file: z
        .string()
        .min(1)
        .describe(
          'JSON lines with `task` and `actions`, one a task, as `rl export --format jsonl` writes them.',
        ),
      patches: count
        .default(1)
        .describe(
          'Most times that the recorded action takes the place of another choice. With one more departure the rollout ends.',
        ),
      share: share.default(1).describe('Share of the groups of such tasks that follow their trace.'),
    })
    .optional()
    .describe(
      'Training rollouts follow the recorded actions of their task, and are told where the policy leaves them (UI-S1). The reward `traced` reads it.',
    ),
  refill: z
    .number()
    .min(1)
    .max(16)
    .optional()
    .describe(
      'Plays further tasks until as many groups are mixed, with successes and failures, as an iteration has tasks. At most so many times the tasks are played.',
    ),
  branching: z
    .enum(['verdict', 'entropy', 'random'])
    .optional()
    .describe(
      'Half of the rollouts of a group branch off the others: at the first step that the judge complains of (`verdict`), at a jump of the entropy (`entropy`), or anywhere (`random`). Their number stays.',
    ),
  expert: expert({
    quarantineAfter: positive
      .default(2)
      .describe('Number of groups below `minGroupSize` after which a task is set aside.'),
  }),
}

/** The section with a setting's own keys besides. */
export const environmentSection = (own: z.ZodRawShape) =>
  section({ ...environmentShape, ...own } as typeof environmentShape).describe(
    'Where the tasks come from and how they are played.',
  )
