/** Does a job with the worker, within its deadline: what is late is aborted, and what it still brings is let fall. */
import { type Clock, systemClock } from '../../clock.ts'
import { RlError } from '../../errors.ts'
import type { Bus } from '../../events/bus.ts'
import type { LoggedEvent, NewEvent } from '../../events/catalogue.ts'
import type { LogClient } from '../../events/log-client.ts'
import type { Job } from '../decider/jobs.ts'
import type { OpenWaits } from './waits.ts'
import { performJob, type Worker } from './worker.ts'

/** A job that was not done by its deadline. `work` settles when the worker lets go of it. */
export class LateError extends RlError {
  override readonly name = 'LateError'
  readonly work: Promise<unknown>

  constructor({ kind, done }: Job, limitMs: number, work: Promise<unknown>) {
    super(`${done} (${kind}) was not done within ${Math.round(limitMs / 1000)} s and was aborted`, {
      code: 'actor.deadline',
      hint: 'run.deadlines in the config; rl status tells who has what in hand',
    })
    this.work = work
  }
}

/** Whether the log cannot take a result, however often it is sent. */
export function isMalformed(error: unknown): boolean {
  return error instanceof RlError && error.code === 'event.bad-data'
}

function isUnasked(error: unknown): boolean {
  return error instanceof RlError && error.code === 'log.not-open'
}

type Try = {
  readonly job: Job
  /** The event that asked for the work, if this process knows it. `cause` is its id. */
  readonly event: LoggedEvent | null
  readonly cause: string | null
  readonly attempt: number
  readonly limitMs: number
}

export type Performer = {
  /**
   * Resolves when the job's events are in the log, or another worker's are. Throws the worker's error, or a
   * `LateError`.
   */
  readonly perform: (one: Try) => Promise<void>
  /** The log has the result: nobody needs this one. */
  readonly abort: (done: string) => void
  /** This process ends: what workers still bring is let fall, and nobody waits for them. */
  readonly abortAll: () => void
}

export type PerformerOptions = {
  readonly bus: Bus
  readonly log: LogClient
  readonly actor: string
  readonly worker: Worker
  readonly waits: OpenWaits
  readonly clock?: Clock
}

export function openPerformer(options: PerformerOptions): Performer {
  const { bus, log, actor, worker, waits, clock = systemClock } = options
  const inHand = new Map<string, AbortController>()
  /**
   * Functions that let go of work in hand, even if its worker does not: the worker may wait for a process that has
   * ended.
   */
  const letGo = new Set<() => void>()
  let ending = false

  function begin({ job, event, attempt }: Try, signal: AbortSignal): Promise<readonly NewEvent[]> {
    return performJob(worker, job, {
      bus,
      log,
      run: log.run,
      actor,
      signal,
      attempt,
      event,
      beginWait: (waitingFor, from, deadlineMs) => waits.begin({ waitingFor, from, deadlineMs }),
    })
  }

  function withinLimit(one: Try, abort: AbortController): Promise<readonly NewEvent[]> {
    return new Promise((resolve, reject) => {
      const work = begin(one, abort.signal)
      const endTimer = clock.after(one.limitMs, () => {
        abort.abort()
        reject(new LateError(one.job, one.limitMs, work))
      })
      const settled = () => {
        endTimer()
        letGo.delete(end)
      }
      const end = () => {
        settled()
        resolve([])
      }
      letGo.add(end)
      work.then(resolve, reject).finally(settled)
    })
  }

  async function perform(one: Try): Promise<void> {
    // What was looked up meanwhile does not begin any more.
    if (ending) return
    const { job, cause } = one
    const abort = new AbortController()
    inHand.set(job.done, abort)
    const waitingFor = `${job.done} (${job.kind})`
    const endWait = waits.begin({ waitingFor, from: actor, deadlineMs: job.deadlineMs })
    try {
      const events = await withinLimit(one, abort)
      if (abort.signal.aborted) return
      // The event that ends a job is its own, or follows from its events (verdicts make a judged trajectory).
      if (events.length === 0 && (await log.positionsOf([job.done]))[0] === null)
        throw new RlError(`job ${job.kind} ended without any event for ${job.done}`, {
          code: 'actor.no-result',
        })
      await log.append(events, { cause }).catch(async (error: unknown) => {
        // Somebody else's result is there: nobody waits for what this one says beside it.
        const isOver = isUnasked(error) && (await log.positionsOf([job.done]))[0] !== null
        if (!isOver) throw error
      })
    } catch (error) {
      if (error instanceof LateError || !abort.signal.aborted) throw error
    } finally {
      endWait()
      if (inHand.get(job.done) === abort) inHand.delete(job.done)
    }
  }

  return {
    perform,
    abort: (done) => inHand.get(done)?.abort(),
    abortAll() {
      ending = true
      for (const abort of inHand.values()) abort.abort()
      for (const end of letGo) end()
    },
  }
}
