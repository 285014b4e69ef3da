/**
 * Work from queues. A delivery only names a position: the log tells what the work is, and whether it is done. A
 * delivery is acknowledged when the log holds its result. It is given back if it failed, and given up with an event
 * after its last try.
 */
import { z } from 'zod'
import { type Clock, systemClock } from '../../clock.ts'
import { RlError } from '../../errors.ts'
import type { Delivery, Fault, WorkResult } from '../../events/bus.ts'
import type { LoggedEvent, NewEvent } from '../../events/catalogue.ts'
import { isTransient, type LogClient } from '../../events/log-client.ts'
import { parseRequest } from '../../events/log-protocol.ts'
import type { Bounds } from '../../events/msgpack.ts'
import { COPY_HEADER, POSITION_HEADER } from '../../events/subjects.ts'
import { JOB_KINDS, type Job } from '../decider/jobs.ts'
import { lateEnd } from './late-work.ts'
import { isMalformed, LateError, type Performer } from './performing.ts'
import type { QueueWork } from './worker.ts'

export type Deliveries = {
  readonly takeEvent: (queue: QueueWork, delivery: Delivery) => Promise<WorkResult>
  readonly takeShared: (delivery: Delivery) => Promise<WorkResult>
}

export type DeliveriesOptions = {
  readonly log: LogClient
  readonly performer: Performer
  readonly attempts: number
  /** Whether this process has the role: only it says of work that the run cannot go on without it. */
  readonly decides: boolean
  /** Returns events to append if a shared job has failed for good. Returns null if the run cannot go on without it. */
  readonly giveUp: (job: Job, attempts: number, lastError: string) => readonly NewEvent[] | null
  readonly stopping: AbortSignal
  readonly onFault: (fault: Fault) => void
  /** Tells of a try that failed. Returns its text. */
  readonly onFailure: (error: unknown, cause: string | null) => Promise<string>
  /** Tells of work that failed for good. */
  readonly onGivenUp: (failed: FailedWork) => Promise<void>
  readonly clock?: Clock
}

export type FailedWork = {
  readonly job: Job
  readonly cause: string | null
  readonly attempts: number
  readonly error: string
  /** Whether the run goes on without it. */
  readonly goesOn: boolean
}

type Work = {
  readonly job: Job
  readonly event: LoggedEvent | null
  readonly cause: string | null
  readonly giveUp: (lastError: string, tries: number) => readonly NewEvent[] | null
}

/** A role's decider puts its jobs in here for others of the role. */
export const sharedJob = z.object({
  job: z.object({
    kind: z.enum(JOB_KINDS),
    done: z.string().max(512),
    input: z.unknown(),
    deadlineMs: z.number().positive(),
  }),
  cause: z.string().max(64).nullable(),
})

/** Time for which work is left to another process of the role. */
const LEFT_MS = 5_000
/** Time after which a copy is offered again, if this process has the work in hand itself. */
const COPY_AGAIN_MS = 1_000
const DONE: WorkResult = { done: true }
const JOB_BOUNDS: Bounds = { bytes: 1_048_576, values: 65_536 }

export function openDeliveries(options: DeliveriesOptions): Deliveries {
  const { log, performer, attempts, decides, giveUp, stopping, onFault, onFailure, onGivenUp } = options
  const { clock = systemClock } = options
  /** Last error of each job, by its natural key. */
  const lastErrors = new Map<string, string>()
  const underWay = new Map<string, Promise<WorkResult>>()

  /** Bytes that say nothing are told, and never come again. */
  function unreadable({ subject, body }: Delivery, error: unknown): WorkResult {
    onFault({ subject, body, error })
    return DONE
  }

  /** Reads the event of this queue at the position that the delivery names. Returns null if there is none. */
  async function askingEvent({ kind }: QueueWork, delivery: Delivery): Promise<LoggedEvent | null> {
    const position = Number(delivery.header(POSITION_HEADER))
    if (!Number.isSafeInteger(position) || position < 1) return null
    try {
      const { events } = await log.read({ from: position, until: position })
      const [found] = events
      if (found === undefined) return null
      const event = await log.decode(...found)
      return event.type === kind.type ? event : null
    } catch (error) {
      if (isTransient(error)) throw error
      return null
    }
  }

  async function takeEvent(queue: QueueWork, delivery: Delivery): Promise<WorkResult> {
    const event = await askingEvent(queue, delivery)
    if (event === null)
      return unreadable(
        delivery,
        new RlError(`the log has no ${queue.kind.type} where this message says`, { code: 'queue.no-event' }),
      )
    const work: Work = {
      job: queue.jobOf(event),
      event,
      cause: event.id,
      giveUp: (lastError, tries) => queue.exhausted(event, tries, lastError),
    }
    return delivery.header(COPY_HEADER) === undefined ? take(delivery, work) : takeCopy(work)
  }

  async function takeShared(delivery: Delivery): Promise<WorkResult> {
    const { body } = delivery
    let shared: z.infer<typeof sharedJob>
    try {
      shared = parseRequest(sharedJob, body, JOB_BOUNDS)
    } catch (error) {
      return unreadable(delivery, error)
    }
    // A decider of this run made the job, and nobody else may publish here. So its input fits its kind.
    const { job, cause } = shared as { readonly job: Job; readonly cause: string | null }
    return take(delivery, {
      job,
      event: null,
      cause,
      giveUp: (lastError, tries) => giveUp(job, tries, lastError),
    })
  }

  /** Work that comes again while it is in hand here gets the answer of the first: acknowledged now it would be nowhere else. */
  async function take(delivery: Delivery, work: Work): Promise<WorkResult> {
    const { done } = work.job
    const [present] = await log.positionsOf([done])
    if (present !== null) return DONE
    const before = underWay.get(done)
    if (before) return before
    const result = tryOrGiveUp(delivery.attempt, work).finally(() => underWay.delete(done))
    underWay.set(done, result)
    return result
  }

  /**
   * Takes work that is late on another host. A try that fails is let go: the work itself is in the other's hands, and comes again from
   * there. If it is late here, the copy is for somebody else.
   */
  async function takeCopy(work: Work): Promise<WorkResult> {
    const { job } = work
    const [present] = await log.positionsOf([job.done])
    if (present !== null) return DONE
    if (underWay.has(job.done)) return { done: false, againMs: COPY_AGAIN_MS }
    const tried = tryCopy(work).finally(() => underWay.delete(job.done))
    underWay.set(
      job.done,
      tried.then(({ worked }): WorkResult => (worked ? DONE : { done: false, againMs: 1 })),
    )
    const { worked, busy } = await tried
    if (!worked && stopping.aborted) return { done: false, againMs: 1 }
    return { ...DONE, ...(busy ? { busy } : {}) }
  }

  async function tryCopy({ job, event, cause }: Work): Promise<{ worked: boolean; busy?: Promise<void> }> {
    try {
      await performer.perform({ job, event, cause, attempt: 1, limitMs: job.deadlineMs })
      return { worked: !stopping.aborted }
    } catch (error) {
      if (stopping.aborted) return { worked: false }
      await onFailure(error, cause)
      if (!(error instanceof LateError)) return { worked: false }
      return { worked: false, busy: lateEnd(error.work, job.deadlineMs, stopping, clock) }
    }
  }

  async function tryOrGiveUp(attempt: number, work: Work): Promise<WorkResult> {
    const { job, cause } = work
    try {
      if (attempt > attempts) {
        if (!(await settleWithout(work, attempts))) return { done: false, againMs: LEFT_MS }
      } else await tryOnce(attempt, work)
      if (stopping.aborted) return { done: false, againMs: 1 }
      lastErrors.delete(job.done)
      return DONE
    } catch (error) {
      if (stopping.aborted) return { done: false, againMs: 1 }
      lastErrors.set(job.done, await onFailure(error, cause))
      const againMs = Math.min(5_000, 100 * 2 ** attempt)
      return {
        done: false,
        againMs,
        ...(error instanceof LateError ? { busy: lateEnd(error.work, job.deadlineMs, stopping, clock) } : {}),
      }
    }
  }

  /**
   * Tries once. If the log cannot take a result, it cannot take that of the next try either. So the run goes on without
   * the result, if it can.
   */
  async function tryOnce(attempt: number, work: Work): Promise<void> {
    const { job, event, cause } = work
    try {
      await performer.perform({ job, event, cause, attempt, limitMs: job.deadlineMs })
    } catch (error) {
      if (stopping.aborted || !isMalformed(error)) throw error
      lastErrors.set(job.done, await onFailure(error, cause))
      if (!(await settleWithout(work, attempt))) throw error
    }
  }

  /** Returns false for work without which the run cannot go on. The process with the role is then to say so. */
  async function settleWithout({ job, cause, giveUp }: Work, tries: number): Promise<boolean> {
    const error = lastErrors.get(job.done) ?? 'no worker finished it'
    const events = giveUp(error, tries)
    if (events === null && !decides) return false
    if (events) await log.append(events, { cause })
    await onGivenUp({ job, cause, attempts: tries, error, goesOn: events !== null })
    return true
  }

  return { takeEvent, takeShared }
}
