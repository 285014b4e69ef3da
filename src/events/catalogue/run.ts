import { z } from 'zod'
import { ROLES } from '../envelope.ts'
import { AUTHORS } from '../users.ts'
import { count, define, innerPath, metrics, name, sha256, sharedFile } from './definition.ts'

const role = z.enum(ROLES)

/** A user's own rule that decides in the run, and the SHA-256 of its file. */
const userRule = z.strictObject({ kind: name, name, version: z.int(), digest: sha256 })

export const runEvents = {
  RunStarted: define({
    v: 2,
    by: ['head'],
    summary:
      'A run began, or a fork left its parent. The event holds the effective config (secrets redacted), the code version and the seed.',
    schema: z.strictObject({
      config: z.record(z.string(), z.unknown()),
      configDigest: sha256,
      codeVersion: z.string(),
      seed: z.number(),
      /** Position at which a fork left its parent. The config holds from there on. */
      parent: z.strictObject({ run: name, position: count }).nullable(),
      /** Absent if all rules are those of the code version. */
      rules: z.array(userRule).optional(),
    }),
    key: ({ parent }) => (parent === null ? 'RunStarted' : `RunStarted/${parent.position}`),
    reproducible: true,
  }),
  OwnFilesRecorded: define({
    v: 1,
    by: ['head'],
    summary:
      "Digests of the head's modules, prompt files and tasks, for roles on other hosts. It comes with RunStarted or RunResumed, if roles may lie on other disks.",
    schema: z.strictObject({
      files: z
        .array(
          z.strictObject({
            /** The use of the file: a key of the config, or that of a setting's prompt. */
            key: name,
            /** Covers a module with the files that it names, a file, or the names and digests in a folder. */
            sha256,
            bytes: count,
            /** The files themselves, for hosts that lack them. Absent for code, and for large ones. */
            shared: z.array(sharedFile(innerPath)).min(1).max(256).optional(),
          }),
        )
        .min(1)
        .max(64),
    }),
    key: () => null,
    reproducible: false,
  }),
  RunPaused: define({
    v: 1,
    by: ['head'],
    summary: 'The run stands still until it is resumed.',
    schema: z.strictObject({ reason: z.string() }),
    key: () => null,
    reproducible: false,
  }),
  RunResumed: define({
    v: 2,
    by: ['head'],
    summary: 'The run goes on after a pause or a restart of the head.',
    schema: z.strictObject({
      reason: z.string(),
      /** Code version of the head that was started again. Absent if the same process goes on. */
      codeVersion: z.string().optional(),
      rules: z.array(userRule).optional(),
    }),
    key: () => null,
    reproducible: false,
  }),
  RunCompleted: define({
    v: 1,
    by: ['head'],
    summary: 'The run reached its last iteration.',
    schema: z.strictObject({ iterations: count, metrics }),
    key: () => 'RunCompleted',
    reproducible: true,
  }),
  RunFailed: define({
    v: 1,
    by: ['head'],
    summary: 'The run cannot go on.',
    schema: z.strictObject({
      reason: z.string(),
      /** Iteration that had no outcome at all, so the head gave up. Absent for faults of the process. */
      iteration: count.optional(),
    }),
    key: (data) => (data.iteration === undefined ? null : `RunFailed/${data.iteration}`),
    reproducible: false,
  }),
  StallDetected: define({
    v: 1,
    by: AUTHORS,
    summary: 'Something awaited did not come by its deadline.',
    schema: z.strictObject({
      owner: name,
      waitingFor: z.string(),
      from: z.string(),
      since: z.number(),
      deadline: z.number(),
    }),
    key: () => null,
    reproducible: false,
  }),
  WorkFailed: define({
    v: 1,
    summary: 'Work failed for good after its last try. If the run cannot go on without it, the run pauses.',
    schema: z.strictObject({
      role,
      worker: name,
      /** Kind of the job, e.g. `judge`. */
      job: name,
      /** Natural key of the event that would have ended it. */
      done: z.string().min(1).max(512),
      attempts: count,
      /** Error of the last try. */
      error: z.string(),
      /** Whether the run continues without it. */
      goesOn: z.boolean(),
    }),
    key: () => null,
    reproducible: false,
    by: AUTHORS,
  }),
  CallsReserved: define({
    v: 1,
    summary:
      'A process took calls of an endpoint from the budget of its role. It makes these calls afterwards.',
    schema: z.strictObject({ role, lot: count, calls: count }),
    wrong: ({ calls }) => (calls > 0 ? null : 'calls: a lot has one at least'),
    key: (data) => `CallsReserved/${data.role}/${data.lot}`,
    reproducible: false,
    by: AUTHORS,
  }),
  ActorStarted: define({
    v: 3,
    by: AUTHORS,
    summary: 'A process took up a role.',
    schema: z.strictObject({
      role,
      worker: name,
      host: z.string(),
      pid: count,
      /** Identity of the process among those of all places. Absent in older events. */
      process: z.string().max(100).optional(),
      /** Version of Node in the process. `unknown` in events of version 1. */
      node: z.string(),
      /** Version of the package, and `codeDigest`. Absent in events of versions 1 and 2. */
      code: z.strictObject({ version: z.string().max(100), digest: sha256 }).optional(),
      decider: z.boolean(),
      note: z.string(),
    }),
    key: () => null,
    reproducible: false,
  }),
  ProcessorTimeMeasured: define({
    v: 1,
    by: ['head'],
    summary:
      'Processor time that the roles took to play and to learn in an iteration, as their heartbeats told it. Several of one iteration add up. Its evaluation is not in it, nor are child processes, e.g. browsers.',
    schema: z.strictObject({
      iteration: count,
      /** Milliseconds by role: all its processes and their threads. */
      ms: z.record(z.string(), z.number().nonnegative()),
    }),
    key: () => null,
    reproducible: false,
  }),
  HostSetAside: define({
    v: 1,
    by: ['head'],
    summary:
      "A host's rollouts fail far oftener than those of other hosts. It takes no rollouts until the iteration `until` is over, or the head starts again.",
    schema: z.strictObject({
      host: z.string().max(300),
      /** Place of its processes, as in their identity: hosts may share a name. */
      place: z.string().regex(/^[0-9a-f]{16}$/),
      /** Tries of rollouts that failed, of its last ones, and the same of all other hosts. */
      failed: count,
      tries: count,
      othersFailed: count,
      othersTries: count,
      until: count,
    }),
    key: () => null,
    reproducible: false,
  }),
  ActorFailed: define({
    v: 1,
    by: AUTHORS,
    summary: 'A process of a role ended, or could not do its work.',
    schema: z.strictObject({
      role,
      worker: name,
      error: z.string(),
      code: z.string().nullable(),
      willRetry: z.boolean(),
    }),
    key: () => null,
    reproducible: false,
  }),
}
