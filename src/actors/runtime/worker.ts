/** The effect half of a role: does jobs and answers calls. It keeps nothing that a restart may not lose. */
import { RlError } from '../../errors.ts'
import type { Bus, Delivery, Serve, WorkQueue, WorkResult } from '../../events/bus.ts'
import type { LoggedEvent, NewEvent } from '../../events/catalogue.ts'
import type { LogClient } from '../../events/log-client.ts'
import type { Job, JobKind, JobOf, Jobs } from '../decider/jobs.ts'
import type { WorkKind } from './work.ts'

export type JobContext = {
  readonly bus: Bus
  readonly log: LogClient
  readonly run: string
  /** `role/worker`. */
  readonly actor: string
  /** Aborted when the actor stops, or when somebody else's result is in the log already. */
  readonly signal: AbortSignal
  /** 1 for the first time that this job is tried. */
  readonly attempt: number
  /** The event that asked for the job. Null if the job came from another process. */
  readonly event: LoggedEvent | null
  /** Names a wait within the job, for `rl status` and stalls. The returned function ends it. */
  readonly beginWait: (waitingFor: string, from: string, deadlineMs: number) => () => void
}

/** Work that comes from a queue: which events bring it, and what job they stand for. */
export type QueueWork = {
  readonly kind: WorkKind
  readonly concurrency: number
  readonly jobOf: (event: LoggedEvent) => Job
  /**
   * Returns events to append if the work was tried `attempts` times in vain, e.g. RolloutFailed. One of them has the
   * job's natural key.
   */
  readonly exhausted: (event: LoggedEvent, attempts: number, lastError: string) => readonly NewEvent[]
}

/** Work whose result somebody waits for, and the log does not. */
export type AnsweredWork = {
  readonly queue: WorkQueue
  readonly concurrency: number
  readonly take: (delivery: Delivery, context: AnsweringContext) => Promise<WorkResult>
}

export type AnsweringContext = {
  readonly bus: Bus
  readonly log: LogClient
  /** Highest number of tries of a piece of work. */
  readonly attempts: number
  readonly stopping: AbortSignal
}

/**
 * Does a job and returns its events, the one that ends it last. They are appended together. A fault of the infrastructure is thrown,
 * and the job is tried again.
 */
type Handler<Kind extends JobKind> = (input: Jobs[Kind], context: JobContext) => Promise<readonly NewEvent[]>

/** Handlers of a worker, by the kind of job. */
type JobHandlers = { readonly [Kind in JobKind]?: Handler<Kind> }

export type Worker = {
  readonly jobs: JobHandlers
  /**
   * Jobs of the decider that any worker of the role may do, through a queue. The others are done beside the decider.
   */
  readonly shared?: ReadonlySet<JobKind>
  /** Number of jobs that this process does at a time: the decider's, and those of the shared queue. */
  readonly concurrency?: number
  readonly queues?: readonly QueueWork[]
  readonly answers?: readonly AnsweredWork[]
  /** Answers requests on `call.<name>`, shared among all workers that serve the name. */
  readonly services?: Readonly<Record<string, Serve>>
  /** Returns counts since the start, by name, for `rl status`: faults of an endpoint, tokens, unreadable answers. */
  readonly counters?: () => Readonly<Record<string, number>>
  /**
   * Gets ready for the log's open work. Work that the process cannot do must not begin. Errors name what is missing.
   */
  readonly prepare?: () => Promise<void>
  /** Resolves to why it can do no more: its process ends, and work that it had in hand stays open. */
  readonly broken?: Promise<unknown>
  readonly close?: () => Promise<void>
}

/** Has a job done by a worker. Rejects with `actor.unknown-job` if the worker has no handler for the kind. */
export async function performJob<Kind extends JobKind>(
  { jobs }: Worker,
  { kind, input, done }: JobOf<Kind>,
  context: JobContext,
): Promise<readonly NewEvent[]> {
  const handler: Handler<Kind> | undefined = jobs[kind]
  if (handler) return handler(input, context)
  const known = Object.keys(jobs).join(', ') || 'none'
  throw new RlError(`${context.actor} has no handler for the job '${kind}' (${done})`, {
    code: 'actor.unknown-job',
    hint: `the jobs that it does: ${known}; head and worker must be of one version`,
  })
}

export type OpenedWorker = {
  readonly worker: Worker
  /** Facts for people, e.g. the model and its backend. */
  readonly note: string
}
