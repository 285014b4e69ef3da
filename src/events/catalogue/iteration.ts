import { z } from 'zod'
import { count, define, metrics, name, seed, tally, tallyWrong, timing } from './definition.ts'

/** `train`: an active task of the iteration. `candidate`: a proposed task that is played along. `evaluation`: a fixed test task. */
export const purpose = z.enum(['train', 'candidate', 'evaluation'])

export const iterationEvents = {
  IterationStarted: define({
    v: 1,
    by: ['head'],
    summary: 'An RL step began with these versions of the models.',
    schema: z.strictObject({
      iteration: count,
      policyVersion: count,
      rewardModelVersion: count,
      /** The time of `run.minutes`, or the steps of `run.steps`, end with this iteration. */
      last: z.literal(true).optional(),
    }),
    key: (data) => `IterationStarted/${data.iteration}`,
    reproducible: true,
  }),
  IterationPlanned: define({
    v: 3,
    digestVersion: 1,
    by: ['environment'],
    summary:
      'The tasks of an RL step were chosen. The event names every group, before the first rollout is asked for.',
    schema: z.strictObject({
      iteration: count,
      /** One group of rollouts for each task, in order of the slots. Those in reserve follow, in the order in which they are drawn. */
      groups: z.array(
        z.strictObject({
          slot: name,
          task: name,
          purpose: z.enum(['train', 'candidate']),
          /** Number of its rollouts. Absent if it is `rolloutsPerTask`, and before version 2. */
          rollouts: z.int().positive().optional(),
          /** Played only if too few of the groups before it are mixed. Absent without `environment.refill`, and before version 3. */
          reserve: z.literal(true).optional(),
        }),
      ),
      rolloutsPerTask: count,
    }),
    wrong: ({ groups, rolloutsPerTask }) =>
      rolloutsPerTask > 0 && new Set(groups.map(({ slot }) => slot)).size === groups.length
        ? null
        : 'groups: each slot plays one group of a rollout at least',
    key: (data) => `IterationPlanned/${data.iteration}`,
    reproducible: true,
  }),
  RolloutRequested: define({
    v: 4,
    digestVersion: 1,
    by: ['environment'],
    summary: 'One rollout of one task should be played. A work queue hands it to one environment worker.',
    schema: z.strictObject({
      /** Unique in the run, e.g. `3/slot-12/5`. The trajectory has the same id. */
      rollout: name,
      iteration: count,
      purpose,
      /** The split of an evaluation, else `train`. */
      split: name,
      slot: name,
      task: name,
      index: count,
      policyVersion: count,
      seed,
      maxSteps: count,
      /** Words that only the acting model reads: its tokens are kept without them. Absent for none, and before version 2. */
      hint: z.string().max(4_000).optional(),
      /** Begins after so many actions of a rollout in the log. Absent for the start of its task, and before version 2. */
      start: z.strictObject({ rollout: name, step: count }).optional(),
      /** Its group was drawn from the reserve. Absent if the plan asks for it, and before version 3. */
      refill: z.literal(true).optional(),
      /**
       * It follows the recorded trace of its task: the recorded action takes the place of another at most so many times. Absent for
       * none, and before version 4.
       */
      patches: count.optional(),
    }),
    key: (data) => `RolloutRequested/${data.rollout}`,
    reproducible: true,
  }),
  IterationCompleted: define({
    v: 1,
    by: ['head'],
    summary: 'An RL step ended. Everything that it waited for is in the log.',
    schema: z.strictObject({ iteration: count, accuracy: tally, metrics }),
    wrong: ({ accuracy }) => tallyWrong('accuracy', accuracy),
    key: (data) => `IterationCompleted/${data.iteration}`,
    reproducible: true,
  }),
  EvaluationCompleted: define({
    v: 1,
    by: ['environment'],
    summary: 'A policy version was measured on a fixed split.',
    schema: z.strictObject({
      iteration: count,
      split: name,
      policyVersion: count,
      tasks: count,
      rollouts: tally,
      /** Number of rollouts lost to faults. They are not in the tally. */
      failed: count,
      meanSteps: z.number(),
      timing,
    }),
    wrong: ({ rollouts, meanSteps }) =>
      tallyWrong('rollouts', rollouts) ?? (meanSteps < 0 ? 'meanSteps: it is negative' : null),
    key: (data) => `EvaluationCompleted/${data.split}/${data.iteration}`,
    reproducible: true,
  }),
}
