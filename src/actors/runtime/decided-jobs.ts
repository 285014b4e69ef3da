/**
 * Jobs that the decider asks for. Any worker of the role may do shared jobs, through a queue. The others are done
 * beside the decider.
 */
import type { Clock } from '../../clock.ts'
import type { Bus } from '../../events/bus.ts'
import type { NewEvent } from '../../events/catalogue.ts'
import type { Role } from '../../events/envelope.ts'
import type { LogClient } from '../../events/log-client.ts'
import { pack } from '../../events/msgpack.ts'
import type { Job } from '../decider/jobs.ts'
import type { OpenJob } from './decider-host.ts'
import { openOwnJobs } from './own-jobs.ts'
import type { Performer } from './performing.ts'
import { openQueuedWork, queueStall } from './queued-work.ts'
import type { Telling } from './telling.ts'
import { jobQueue } from './work.ts'
import type { Worker } from './worker.ts'

export type DecidedJobs = {
  readonly onJob: (open: OpenJob) => void
  /** The log holds the result. */
  readonly onSettled: (done: string) => void
  /** Resolves when no job is in hand. */
  readonly idle: () => Promise<void>
  readonly stop: () => void
}

export type DecidedJobsOptions = {
  readonly bus: Bus
  readonly run: string
  readonly role: Role
  readonly name: string
  readonly worker: Worker
  readonly performer: Performer
  readonly attempts: number
  /** Returns events to append if a job has failed for good. Returns null if the run cannot go on without it. */
  readonly giveUp: (job: Job, attempts: number, lastError: string) => readonly NewEvent[] | null
  readonly log: LogClient
  readonly telling: Telling
  readonly stopping: AbortSignal
  /** No job begins after it. */
  readonly noMore: AbortSignal
  readonly fail: (error: unknown) => void
  readonly clock: Clock
}

export function openDecidedJobs(options: DecidedJobsOptions): DecidedJobs {
  const {
    bus,
    run,
    role,
    name,
    worker,
    performer,
    attempts,
    giveUp,
    log,
    telling,
    stopping,
    noMore,
    fail,
    clock,
  } = options
  const own = openOwnJobs({
    performer,
    attempts,
    stopping,
    noMore,
    clock,
    concurrency: worker.concurrency ?? 1,
    onFailure: telling.failure,
    /**
     * Appends events in place of the job's. If the run cannot go on without the job, the head pauses it. This process
     * then has nothing to do, and starts afresh when the run goes on.
     */
    async onGivenUp(failed, error) {
      const { job, cause, attempts, error: lastError } = failed
      const events = giveUp(job, attempts, lastError)
      if (events === null) {
        await telling.givenUp(failed)
        return fail(error)
      }
      await log.append(events, { cause }).then(() => telling.givenUp({ ...failed, goesOn: true }), fail)
    },
  })
  const queue = jobQueue(run, role)
  const shared = openQueuedWork({
    bus,
    queue,
    clock,
    onTrouble: (trouble) => void telling.tell(queueStall(name, queue.name, trouble)),
  })
  return {
    onJob(open) {
      const { job, event } = open
      if (!worker.shared?.has(job.kind)) return own.add(open)
      shared.open(job.done, () => ({
        subject: queue.subject,
        body: pack({ job, cause: event.id }),
        id: `${job.done}#${event.id}`,
      }))
    },
    onSettled(done) {
      shared.close(done)
      own.settle(done)
    },
    idle: own.idle,
    stop: shared.stop,
  }
}
