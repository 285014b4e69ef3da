/** Takes a worker's work from its queues: jobs of its role that are shared, events, and what asks for an answer. */
import type { Bus, Delivery, WorkResult } from '../../events/bus.ts'
import type { Role } from '../../events/envelope.ts'
import type { LogClient } from '../../events/log-client.ts'
import type { Deliveries } from './deliveries.ts'
import type { RolloutGate } from './rollout-gate.ts'
import { openTaking } from './taking.ts'
import { eventQueue, jobQueue } from './work.ts'
import type { Worker } from './worker.ts'

export type TakeQueues = {
  readonly bus: Bus
  readonly run: string
  readonly role: Role
  readonly worker: Pick<Worker, 'shared' | 'queues' | 'answers' | 'concurrency'>
  readonly log: LogClient
  readonly deliveries: Deliveries
  /** Rollouts wait here while the run is paused. */
  readonly gate: RolloutGate
  /** After this silence of the worker its work goes to another. */
  readonly ackWaitMs: number
  readonly attempts: number
  readonly stopping: AbortSignal
  /** Hears of each piece of work that was done. */
  readonly onDone: () => void
  /** Work that has not begun by then is given back. */
  readonly noMore: AbortSignal
}

type Take = (delivery: Delivery) => Promise<WorkResult>

/** Returns how many pieces of work a worker takes from queues at a time. */
export function slotsOf({
  shared,
  queues = [],
  answers = [],
  concurrency = 1,
}: TakeQueues['worker']): number {
  return [...queues, ...answers].reduce((sum, { concurrency }) => sum + concurrency, shared ? concurrency : 0)
}

export type QueuesTaken = {
  /** Ends the taking of each queue, and resolves when the work in hand is over. */
  readonly ends: readonly (() => Promise<void>)[]
  /** Leaves off the queues of events while this host is aside, and begins again. */
  readonly setAside: (isAside: boolean) => void
}

/** Begins to take work from all queues of a worker. */
export function takeQueues({
  bus,
  run,
  role,
  worker,
  log,
  deliveries,
  gate,
  ackWaitMs,
  attempts,
  stopping,
  onDone,
  noMore,
}: TakeQueues): QueuesTaken {
  const { shared, queues = [], answers = [], concurrency = 1 } = worker
  const ends: (() => Promise<void>)[] = []
  const counted =
    (take: Take): Take =>
    async (delivery) => {
      const result = await take(delivery)
      if (result.done) onDone()
      return result
    }
  if (shared)
    ends.push(bus.work({ ...jobQueue(run, role), concurrency, ackWaitMs }, counted(deliveries.takeShared)))
  for (const { queue, concurrency, take } of answers)
    ends.push(
      bus.work(
        { ...queue, concurrency, ackWaitMs },
        counted((delivery) => take(delivery, { bus, log, attempts, stopping })),
      ),
    )
  const takings = queues.map((queue) =>
    openTaking(() =>
      bus.work(
        { ...eventQueue(run, queue.kind.type), concurrency: queue.concurrency, ackWaitMs },
        counted(async (delivery) => {
          await gate.opened()
          return noMore.aborted ? { done: false, againMs: 1 } : deliveries.takeEvent(queue, delivery)
        }),
      ),
    ),
  )
  return {
    ends: [...ends, ...takings.map(({ end }) => end)],
    setAside(isAside) {
      for (const taking of takings)
        if (isAside) taking.hold()
        else taking.goOn()
    },
  }
}
