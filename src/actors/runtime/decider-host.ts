/**
 * Hosts a decider on the bus. It feeds the decider the log, appends the events that it asks for, and hands out its
 * jobs. After a restart the decider catches up from its last key frame, and its outputs are only noted. Then the
 * outputs that the log does not hold yet are carried out.
 */
import { createHash } from 'node:crypto'
import { keyOf, type LoggedEvent } from '../../events/catalogue.ts'
import type { LogClient } from '../../events/log-client.ts'
import { subscribeBatches } from '../../events/subscription.ts'
import { itemAt } from '../../item-at.ts'
import type { Platform } from '../../platform/platform.ts'
import { type Decider, type RunningDecider, resumeDecider, startDecider } from '../decider/decider.ts'
import type { Job } from '../decider/jobs.ts'
import type { KeyFrames, Noted } from './key-frame.ts'

export type OpenJob = {
  readonly job: Job
  /** The event that asked for it. */
  readonly event: LoggedEvent
}

export type DeciderHost = {
  readonly running: RunningDecider
  /** Last position that the decider was fed. */
  readonly position: () => number
  readonly caughtUp: () => boolean
  /** Fails when an output was refused or the decider threw. */
  readonly done: Promise<void>
  readonly stop: () => Promise<void>
}

export type DeciderHostOptions = {
  readonly decider: Decider
  readonly log: LogClient
  /** Key frames to resume from after a restart. Without them the decider begins with the first event each time. */
  readonly frames?: KeyFrames
  /** Called when a job begins, in order. It is called again for the same job only after a restart. */
  readonly onJob: (open: OpenJob) => void
  /** The log holds the event that ends a job. */
  readonly onSettled: (key: string) => void
  readonly platform?: Platform
}

/** Natural keys asked for in one request. */
const KEYS_A_REQUEST = 5_000

export async function hostDecider({
  decider,
  log,
  frames,
  onJob,
  onSettled,
  platform,
}: DeciderHostOptions): Promise<DeciderHost> {
  const from = frames?.found ?? null
  const running = from ? resumeDecider(decider, from.state) : startDecider(decider)
  let caughtUp = false
  let noted: Noted[] = [...(from?.unsent ?? [])]
  let outbox: Noted[][] = []
  /** Part of the outbox that is under way. */
  let underWay: Noted[][] = []
  let sending: Promise<void> | null = null
  /** Position of the newest key frame, and whether the decider has taken all events up to the present one whole. */
  let framed = from?.position ?? 0
  let whole = true
  const jobs = new Map<string, OpenJob>()
  for (const open of await openedBefore(log, from?.jobs ?? [])) jobs.set(open.job.done, open)
  let fail: (error: unknown) => void = () => {}
  const failed = new Promise<never>((_, reject) => {
    fail = reject
  })
  failed.catch(() => {})

  function feed(event: LoggedEvent): void {
    const key = keyOf(event)
    if (key !== null && jobs.delete(key) && caughtUp) onSettled(key)
    const events: Noted[] = []
    for (const [index, output] of running.handle(event).entries()) {
      if (output.type === 'event')
        events.push({ event: output.event, id: outputId(log.run, decider, event.id, index), cause: event.id })
      else {
        const open = { job: output.job, event }
        jobs.set(output.job.done, open)
        if (caughtUp) onJob(open)
      }
    }
    if (!caughtUp) for (const one of events) noted.push(one)
    else if (events.length > 0) outbox.push(events)
  }

  /** Makes one append after the other, so that the log has the outputs in the order of their causes. */
  function send(): void {
    sending ??= (async () => {
      while (outbox.length > 0) {
        underWay = outbox
        outbox = []
        await Promise.all(
          underWay.map((events) =>
            log.append(
              events.map(({ event }) => event),
              { cause: events[0]?.cause, ids: events.map(({ id }) => id) },
            ),
          ),
        )
        underWay = []
      }
    })()
      .catch(fail)
      .finally(() => {
        sending = null
        if (outbox.length > 0) send()
      })
  }

  /** Drops outputs that the log holds already, from before the restart. Those without a key have the same id as then. */
  async function dropPresent(): Promise<void> {
    const keys = noted.map(({ event }) => keyOf(event))
    const present = await presentOf(log, [...new Set(keys.filter((key) => key !== null))])
    noted = noted.filter((_, index) => !present.has(keys[index] ?? ''))
  }

  async function carryOn(): Promise<void> {
    await dropPresent()
    for (const output of noted) outbox.push([output])
    noted = []
    const present = await presentOf(log, [...jobs.keys()])
    for (const [key, open] of jobs) {
      if (present.has(key)) jobs.delete(key)
      else onJob(open)
    }
    caughtUp = true
    send()
  }

  /** Keeps the decider's present state. The log tells the hash at a position where nothing more is asked for. */
  async function keepFrame(position: number): Promise<void> {
    if (!frames || !whole || position === framed) return
    framed = position
    const taken = frames.take({
      position,
      state: running.snapshot(),
      unsent: [...noted, ...underWay.flat(), ...outbox.flat()],
      jobs: [...jobs.values()].map(({ job, event }) => ({ job, position: event.position })),
    })
    const { hash } = await log.read({ from: position + 1, until: position, limit: 1 })
    taken.write(hash)
  }

  const subscription = await subscribeBatches(
    {
      bus: log.bus,
      run: log.run,
      from: framed + 1,
      types: [...decider.interests],
      onCaughtUp: carryOn,
      platform,
    },
    async (events, upTo) => {
      whole = false
      for (const event of events) feed(event)
      whole = true
      if (caughtUp) send()
      else if (noted.length >= KEYS_A_REQUEST) await dropPresent()
      // If a frame cannot be kept (the disk is full, the head is away), only the next start is slower.
      if (frames && upTo - framed >= frames.every) keepFrame(upTo).catch(() => {})
    },
  )

  return {
    running,
    position: subscription.position,
    caughtUp: () => caughtUp,
    done: Promise.race([subscription.done, failed]),
    async stop() {
      await subscription.stop()
      await sending
      await keepFrame(subscription.position()).catch(() => {})
    },
  }
}

/** Returns those natural keys that the log holds. */
async function presentOf(log: LogClient, keys: readonly string[]): Promise<ReadonlySet<string>> {
  const present = new Set<string>()
  for (let at = 0; at < keys.length; at += KEYS_A_REQUEST) {
    const part = keys.slice(at, at + KEYS_A_REQUEST)
    const positions = await log.positionsOf(part)
    part.forEach((key, index) => {
      if (positions[index] !== null) present.add(key)
    })
  }
  return present
}

/** Returns the jobs of a key frame, each with the event that asked for it. */
function openedBefore(log: LogClient, jobs: NonNullable<KeyFrames['found']>['jobs']): Promise<OpenJob[]> {
  return Promise.all(
    jobs.map(async ({ job, position }) => {
      const { events } = await log.read({ from: position, until: position })
      return { job, event: await log.decode(...itemAt(events, 0)) }
    }),
  )
}

/** The id of an output follows from what caused it: sent again after a restart, it is the same event. */
export function outputId(run: string, decider: Pick<Decider, 'role'>, cause: string, index: number): string {
  const digest = createHash('sha256').update(`${run}/${decider.role}/${cause}/${index}`).digest()
  digest[6] = (itemAt(digest, 6) & 0x0f) | 0x80
  digest[8] = (itemAt(digest, 8) & 0x3f) | 0x80
  const hex = digest.toString('hex')
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20, 32)].join(
    '-',
  )
}
