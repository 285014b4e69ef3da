import { z } from 'zod'
import { count, define, name, sha256, share, tally, tallyWrong, task } from './definition.ts'

const direction = z.enum(['harder', 'easier'])

export const taskEvents = {
  TaskAdded: define({
    v: 2,
    digestVersion: 1,
    by: ['environment'],
    summary: 'A task came into the run: the first version of a training slot, or a fixed evaluation task.',
    schema: z.strictObject({
      ...{ slot: name, split: name, index: count, total: count, task },
      /** Actions that others took in it (`environment.traces`). Absent for none, and before version 2. */
      trace: z.array(z.string()).min(1).optional(),
    }),
    wrong: ({ index, total }) => (index < total ? null : `index: ${index} of ${total} tasks`),
    key: (data) => `TaskAdded/${data.split}/${data.slot}`,
    reproducible: true,
  }),
  TaskProposed: define({
    v: 1,
    by: ['adapter-worker'],
    summary: 'A rewritten task is a candidate for its slot. The next iteration measures it.',
    schema: z.strictObject({
      iteration: count,
      slot: name,
      parent: name,
      direction,
      parentAccuracy: tally,
      critique: z.string(),
      rewriter: z.strictObject({
        kind: z.enum(['symbolic', 'language-model']),
        name: z.string(),
        promptSha256: sha256.nullable(),
      }),
      task,
    }),
    wrong: ({ parentAccuracy }) => tallyWrong('parentAccuracy', parentAccuracy, 1),
    key: (data) => `TaskProposed/${data.slot}/${data.iteration}`,
    reproducible: true,
  }),
  TaskAccepted: define({
    v: 1,
    by: ['environment'],
    summary: 'A candidate took the place of the active task of its slot.',
    schema: z.strictObject({
      iteration: count,
      slot: name,
      task: name,
      parent: name,
      direction,
      accuracy: tally,
      parentAccuracy: tally,
      thresholds: z.strictObject({ low: share, high: share }),
      reason: z.string(),
    }),
    wrong: ({ accuracy, parentAccuracy }) =>
      tallyWrong('accuracy', accuracy, 1) ?? tallyWrong('parentAccuracy', parentAccuracy, 1),
    key: (data) => `TaskDecided/${data.slot}/${data.iteration}`,
    reproducible: true,
  }),
  TaskRejected: define({
    v: 1,
    by: ['environment', 'adapter-worker'],
    summary:
      'A candidate was dropped, or none could be made. If none could be made, `task` is null, and `accuracy` counts no rollouts.',
    schema: z.strictObject({
      iteration: count,
      slot: name,
      task: name.nullable(),
      parent: name,
      direction,
      accuracy: tally,
      parentAccuracy: tally,
      thresholds: z.strictObject({ low: share, high: share }),
      reason: z.string(),
    }),
    wrong: ({ accuracy, parentAccuracy }) =>
      tallyWrong('accuracy', accuracy) ?? tallyWrong('parentAccuracy', parentAccuracy, 1),
    key: (data) =>
      data.task === null
        ? `TaskProposed/${data.slot}/${data.iteration}`
        : `TaskDecided/${data.slot}/${data.iteration}`,
    reproducible: true,
  }),
}
