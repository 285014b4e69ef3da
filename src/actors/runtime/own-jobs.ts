/** Jobs of the decider that only its own process may do, a few at a time, each tried some times. */
import { type Clock, pause, systemClock } from '../../clock.ts'
import type { OpenJob } from './decider-host.ts'
import type { FailedWork } from './deliveries.ts'
import { isMalformed, type Performer } from './performing.ts'

export type OwnJobs = {
  readonly add: (open: OpenJob) => void
  /** The log holds the result. */
  readonly settle: (done: string) => void
  /** Resolves when no job is in hand. */
  readonly idle: () => Promise<void>
}

export type OwnJobsOptions = {
  readonly performer: Performer
  readonly concurrency: number
  readonly attempts: number
  readonly stopping: AbortSignal
  /** No job begins after it. */
  readonly noMore: AbortSignal
  readonly onFailure: (error: unknown, cause: string, willRetry: boolean) => Promise<string>
  /** The last try failed. */
  readonly onGivenUp: (failed: FailedWork, error: unknown) => Promise<void>
  readonly clock?: Clock
}

/**
 * Factor of the deadline after which a job is aborted. A stall is told at the deadline. An outside trainer may answer
 * up to the deadline.
 */
const LIMIT = 2

export function openOwnJobs(options: OwnJobsOptions): OwnJobs {
  const { performer, concurrency, attempts, stopping, noMore, onFailure, onGivenUp } = options
  const { clock = systemClock } = options
  const waiting: OpenJob[] = []
  const inHand = new Set<Promise<void>>()

  function runNext(): void {
    while (inHand.size < concurrency && waiting.length > 0 && !noMore.aborted) {
      const open = waiting.shift() as OpenJob
      const job = runJob(open).finally(() => {
        inHand.delete(job)
        runNext()
      })
      inHand.add(job)
    }
  }

  async function runJob({ job, event }: OpenJob): Promise<void> {
    const cause = event.id
    for (let attempt = 1; !stopping.aborted; attempt++) {
      try {
        return await performer.perform({ job, event, cause, attempt, limitMs: LIMIT * job.deadlineMs })
      } catch (failure) {
        if (stopping.aborted) return
        const willRetry = attempt < attempts && !isMalformed(failure)
        const error = await onFailure(failure, cause, willRetry)
        if (!willRetry) return onGivenUp({ job, cause, attempts: attempt, error, goesOn: false }, failure)
        await pause(Math.min(5_000, 250 * 2 ** attempt), stopping, clock)
      }
    }
  }

  return {
    async idle() {
      await Promise.all(inHand)
    },
    add(open) {
      waiting.push(open)
      runNext()
    },
    settle(done) {
      performer.abort(done)
      const index = waiting.findIndex(({ job }) => job.done === done)
      if (index >= 0) waiting.splice(index, 1)
    },
  }
}
