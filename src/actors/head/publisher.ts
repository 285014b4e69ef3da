/**
 * Publishes durable events in order. After an interruption it publishes again what the broker may have missed.
 * Requested work goes to its queue and stays on the books until its result is in the log.
 */
import type { Clock } from '../../clock.ts'
import type { Bus, Headers } from '../../events/bus.ts'
import type { LoggedEvent, NewEvent } from '../../events/catalogue.ts'
import type { CheckedEvent } from '../../events/codec.ts'
import { unpackFast } from '../../events/fast-unpack.ts'
import type { EventLog } from '../../events/log.ts'
import { COPY_HEADER, EPOCH_HEADER, POSITION_HEADER, subjectsOf } from '../../events/subjects.ts'
import { openQueuedWork, type QueuedWork, queueStall, type Trouble } from '../runtime/queued-work.ts'
import { openStragglers } from '../runtime/stragglers.ts'
import { eventQueue, type WorkKind } from '../runtime/work.ts'

export type EventPublisher = {
  /** Hears of appended events, in order. `publish` publishes them. */
  readonly note: (event: CheckedEvent, position: number) => void
  /** Publishes all that was noted. */
  readonly publish: () => void
  /** Returns true if everything in the log was given to the connection. If not, `reconcile` is due. */
  readonly isWhole: () => boolean
  /** Publishes what the broker may have missed while the connection was away. Readers drop what they have. */
  readonly reconcile: () => Promise<void>
  /** Last position given to the connection. */
  readonly published: () => number
  /** Last position that the broker certainly has. */
  readonly confirmed: () => number
  /** Resolves when the broker has all that was published, or the connection is lost. */
  readonly confirm: () => Promise<void>
  /** Work that was asked for and has no result in the log yet, and publishes to queues that failed and were tried again. */
  readonly openWork: () => number
  readonly queueFailures: () => number
  /** A queue that takes no work now, or null. */
  readonly queueTrouble: () => Trouble | null
  /** Everything before this position that asked for work has its result in the log. */
  readonly oldestOpen: () => number
  readonly stop: () => void
}

export type PublisherOptions = {
  readonly log: EventLog
  readonly bus: Bus
  readonly work: readonly WorkKind[]
  readonly clock: Clock
  /** Last position that anybody may hear of. Default: that of the log. */
  readonly visible?: () => number
  /** Epoch of this head. It stands in each event's header. */
  readonly epoch: number
  /** Appends an event of the head itself. */
  readonly report: (event: NewEvent) => void
  /** Whether work that is late on one host is given to a second one. */
  readonly copies?: boolean
}

/** `done` is the natural key of the result if the event asks for work. */
type Row = {
  readonly position: number
  readonly type: string
  readonly body: Uint8Array
  readonly done: string | null
}

const PAGE = 1_000
/** Time between looks for late work. */
const LOOK_MS = 2_000
/** Name under which the log keeps `oldestOpen`, so that a start reads no more than it must. */
export const OLDEST_OPEN = 'oldest_open_work'

export function openPublisher({
  log,
  bus,
  work,
  clock,
  epoch,
  report,
  copies = false,
  visible = () => log.head().position,
}: PublisherOptions): EventPublisher {
  const subjects = subjectsOf(log.run)
  const kinds = new Map(work.map((kind) => [kind.type as string, kind]))
  const queues = new Map<string, QueuedWork>()
  for (const { type } of work) {
    const queue = eventQueue(log.run, type)
    const onTrouble = (trouble: Parameters<typeof queueStall>[2]) =>
      report(queueStall('head', queue.name, trouble))
    queues.set(type, openQueuedWork({ bus, queue, onTrouble, clock }))
  }
  const stragglers = new Map(work.map(({ type }) => [type as string, openStragglers(clock)]))
  let looking = false
  /** Positions at which the work of each key was asked for, in order. */
  const asked = new Map<string, number>()
  let recent: Row[] = []
  let published = Number(log.meta('published') ?? 0)
  let confirmed = published
  let confirming: Promise<void> | null = null
  /** Whether everything in the log was given to the connection: only then may a new event be published at once. */
  let whole = false
  let reconciling: Promise<void> | null = null

  function openUnlessDone(type: string, done: string, position: number): void {
    if (log.positionOf('key', done) !== null) return
    asked.set(done, position)
    stragglers.get(type)?.begin(done)
    queues.get(type)?.open(done, () => messageOf(type, position))
  }

  function messageOf(type: string, position: number) {
    const row = log.row(position)
    if (!row) throw new TypeError(`the log has no position ${position}`)
    return { subject: subjects.evt(type), body: row.body, id: row.id, headers: headersOf(position, epoch) }
  }

  /** Gives late work to a second host if all work is in hand: then somebody may have free slots. */
  async function copyLate(): Promise<void> {
    for (const { type } of work) {
      const known = stragglers.get(type)
      const keys = known?.late() ?? []
      if (keys.length === 0 || (await bus.queueDepth(eventQueue(log.run, type))).pending > 0) continue
      for (const done of keys) {
        const position = asked.get(done)
        if (position === undefined) continue
        const { subject, body, id, headers } = messageOf(type, position)
        await bus.publishWork(subject, body, `${id}#copy`, { ...headers, [COPY_HEADER]: '1' })
        known?.given(done)
      }
    }
  }

  function lookForLate(): void {
    if (looking || !bus.connected()) return
    looking = true
    // A copy that cannot be published now is published at the next look. The work is in hand anyway.
    copyLate()
      .catch(() => {})
      .finally(() => {
        looking = false
      })
  }

  /** Opens the work that was asked for before this head began and that has no result. */
  function openWorkOfLog(): void {
    if (work.length === 0) return
    for (const event of log.events({
      from: Number(log.meta(OLDEST_OPEN) ?? 1),
      types: work.map(({ type }) => type),
    })) {
      const done = kinds.get(event.type)?.done(event)
      if (done !== undefined) openUnlessDone(event.type, done, event.position)
    }
  }

  async function confirmAll(): Promise<void> {
    try {
      while (confirmed < published) {
        const reached = published
        await bus.flush()
        confirmed = reached
      }
    } catch {
      // The connection broke: after it is back, everything above `confirmed` is published again.
    }
  }

  function confirm(): Promise<void> {
    confirming ??= confirmAll().finally(() => {
      confirming = null
    })
    return confirming
  }

  /**
   * Publishes from the last confirmed position on, page by page. Commits meanwhile publish nothing: the last page has
   * them.
   */
  async function republish(): Promise<void> {
    await confirming
    whole = false
    published = confirmed
    while (bus.connected()) {
      const page = log.page({ from: published + 1, until: visible(), limit: PAGE })
      if (page.events.length === 0) {
        whole = true
        return
      }
      for (const { position, body } of page.events) {
        const { type } = unpackFast(body) as { type: string }
        if (!kinds.has(type)) bus.publish(subjects.evt(type), body, headersOf(position, epoch))
      }
      published = page.next - 1
      await confirm()
      if (confirmed < published) return
    }
  }

  openWorkOfLog()
  const endLooks = copies ? clock.every(LOOK_MS, lookForLate) : () => {}

  return {
    note(event, position) {
      const { key, envelope, body } = event
      if (key !== null && asked.delete(key)) {
        for (const queue of queues.values()) queue.close(key)
        for (const known of stragglers.values()) known.end(key)
      }
      const done = kinds.get(envelope.type)?.done({ ...envelope, position } as LoggedEvent) ?? null
      recent.push({ position, type: envelope.type, body, done })
    },
    publish() {
      const most = visible()
      const rows = recent.filter(({ position }) => position <= most)
      recent = recent.slice(rows.length)
      whole &&= bus.connected()
      for (const { position, type, body, done } of rows) {
        if (done !== null) openUnlessDone(type, done, position)
        else if (whole) bus.publish(subjects.evt(type), body, headersOf(position, epoch))
      }
      const newest = rows.at(-1)
      if (!whole || newest === undefined) return
      published = newest.position
      void confirm()
    },
    isWhole: () => whole,
    reconcile() {
      reconciling ??= republish().finally(() => {
        reconciling = null
      })
      return reconciling
    },
    published: () => published,
    confirmed: () => confirmed,
    confirm,
    openWork: () => [...queues.values()].reduce((sum, queue) => sum + queue.size(), 0),
    queueFailures: () => [...queues.values()].reduce((sum, queue) => sum + queue.failures(), 0),
    queueTrouble: () =>
      [...queues.values()].map(({ trouble }) => trouble()).find((one) => one !== null) ?? null,
    oldestOpen() {
      for (const position of asked.values()) return position
      return recent[0]?.position ?? log.head().position + 1
    },
    stop() {
      endLooks()
      for (const queue of queues.values()) queue.stop()
    },
  }
}

function headersOf(position: number, epoch: number): Headers {
  return { [POSITION_HEADER]: String(position), [EPOCH_HEADER]: String(epoch) }
}
