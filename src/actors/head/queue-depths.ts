/** How full a run's work queues are, as its broker tells. A question is answered at once with what was measured last. */
import type { Bus, QueueDepth, WorkQueue } from '../../events/bus.ts'
import { ROLES } from '../../events/envelope.ts'
import { eventQueue, jobQueue, type WorkKind } from '../runtime/work.ts'

/** A queue by its short name, e.g. `RolloutRequested` or `work-policy`. */
export type NamedDepth = QueueDepth & { readonly name: string }

/** A measurement this old is made again. */
const FRESH_MS = 1_000

export type QueueDepthsOptions = {
  readonly bus: Pick<Bus, 'queueDepth'>
  readonly run: string
  readonly work: readonly WorkKind[]
  readonly queues: readonly WorkQueue[]
  readonly now: () => number
}

/** Returns a function that gives the last measurement, or null, and begins another if it is old. */
export function queueDepths({
  bus,
  run,
  work,
  queues,
  now,
}: QueueDepthsOptions): () => readonly NamedDepth[] | null {
  const all = [
    ...work.map(({ type }) => eventQueue(run, type)),
    ...ROLES.map((role) => jobQueue(run, role)),
    ...queues,
  ]
  let last: readonly NamedDepth[] | null = null
  let measuredAt = Number.NEGATIVE_INFINITY
  let isMeasuring = false

  async function measure(): Promise<void> {
    try {
      last = await Promise.all(
        all.map(async (queue) => ({
          name: queue.name.replace(`rl-${run}-`, ''),
          ...(await bus.queueDepth(queue)),
        })),
      )
    } catch {
      // A broker that does not say is asked again. Nothing depends on it.
      last = null
    }
    measuredAt = now()
    isMeasuring = false
  }

  return () => {
    if (!isMeasuring && now() - measuredAt > FRESH_MS) {
      isMeasuring = true
      void measure()
    }
    return last
  }
}
