/**
 * The head's ear and mouth: takes events, appends them, and publishes only what is durable. Requests that arrive in one
 * turn of the event loop share a transaction.
 */

import { RlError } from '../../errors.ts'
import { refusalOf } from '../../events/authority.ts'
import type { Bus, WorkQueue } from '../../events/bus.ts'
import { CATALOGUE, type NewEvent } from '../../events/catalogue.ts'
import {
  type CheckedEvent,
  checkWritten,
  decodeLogged,
  encodeEnvelope,
  openEvent,
} from '../../events/codec.ts'
import { ROLES } from '../../events/envelope.ts'
import { readFaultReport } from '../../events/faults.ts'
import type { Appended, EventLog } from '../../events/log.ts'
import { pack } from '../../events/msgpack.ts'
import { patiently } from '../../events/patience.ts'
import { EPOCH_HEADER, subjectsOf } from '../../events/subjects.ts'
import { traceparentOf } from '../../events/trace.ts'
import { itemAt } from '../../item-at.ts'
import { type Platform, systemPlatform } from '../../platform/platform.ts'
import type { Trouble } from '../runtime/queued-work.ts'
import { eventQueue, jobQueue, type WorkKind } from '../runtime/work.ts'
import { isSameFact, openAdmission } from './admission.ts'
import { openAppender } from './appender.ts'
import { serveBlobs } from './blob-service.ts'
import { openDeadLetters } from './dead-letters.ts'
import { openDiskPause } from './disk-pause.ts'
import { logAnswers } from './log-answers.ts'
import { authorOf, deadLettering, whileHeld } from './log-handlers.ts'
import { openPersonPause, type PersonPause } from './person-pause.ts'
import { openPublishedCursor } from './published-cursor.ts'
import { openPublisher } from './publisher.ts'
import type { Replica } from './replica.ts'
import { openRollbackCheck } from './rollback.ts'

/** May refuse an event that is well-formed, e.g. a second decider of a role. Sees every new event in order. */
export type Admit = (event: CheckedEvent) => RlError | null

export type LogServiceOptions = {
  readonly log: EventLog
  readonly bus: Bus
  /** Kinds of work that have a queue. */
  readonly work?: readonly WorkKind[]
  /** Queues of other work, e.g. of executors. */
  readonly queues?: readonly WorkQueue[]
  readonly admit?: Admit
  /**
   * Returns why this head may not speak for the run now, or null. A head that lost the run would tell of its own log.
   */
  readonly refusal?: () => RlError | null
  /** Called after each commit, before anything is published, with the appended events. */
  readonly onAppended?: (
    events: readonly { readonly event: CheckedEvent; readonly position: number }[],
  ) => void
  /** Epoch of this head: the epoch of the previous head plus one. */
  readonly epoch?: number
  /** Brokers that keep the log too. Nobody hears of an event before they have it. */
  readonly replica?: Replica
  /** Time between announcements of the last position. The cursor of published events is kept as often. */
  readonly announceMs?: number
  /** After this silence of a worker its work goes to another. */
  readonly ackWaitMs?: number
  /** Whether work that is late on one host is given to a second one. */
  readonly copies?: boolean
  /** Returns the places of hosts that are to take no rollouts. */
  readonly aside?: () => readonly string[]
  readonly platform?: Platform
}

export type LogService = {
  /** Appends events of the head itself. `urgent` events are taken even if the disk is nearly full. */
  readonly append: (
    events: readonly NewEvent[],
    options?: { cause?: string | null; urgent?: boolean },
  ) => readonly Appended[]
  /** Work that was asked for and has no result in the log yet. */
  readonly openWork: () => number
  /** Returns the number of failed publishes to queues. Each is tried again. */
  readonly queueFailures: () => number
  /** A queue that takes no work now, or null. */
  readonly queueTrouble: () => Trouble | null
  /** Since when appends are refused because the disk is nearly full (ms since 1970), or null. */
  readonly pausedSince: () => number | null
  /** Meanwhile workers take no new rollouts from their queues. */
  readonly personPause: PersonPause
  /** Answers pending requests, publishes remaining events, and stops. The log stays open. */
  readonly close: () => Promise<void>
}

/** Time between looks for queues that may be gone. */
const QUEUES_MS = 2_000

export async function startLogService(options: LogServiceOptions): Promise<LogService> {
  const { log, bus, work = [], queues = [], admit = () => null, refusal = () => null, onAppended } = options
  const { epoch = 1, announceMs = 500, ackWaitMs = 4_000, platform = systemPlatform } = options
  const { clock } = platform
  const subjects = subjectsOf(log.run)
  const deadLetters = openDeadLetters(log, clock)
  let isOver = log.positionOf('key', 'RunCompleted') !== null
  const reading = deadLettering(deadLetters)
  const rollback = openRollbackCheck(log, epoch)
  const personPause = openPersonPause({
    append: (event) => void append([event], { urgent: true }),
    onChange: announce,
    clock,
  })
  const diskPause = openDiskPause(append, clock, personPause.event)
  const { replica } = options
  const visible = replica?.position ?? (() => log.head().position)
  const answers = logAnswers(log, visible, rollback.checkSeen, diskPause.since)

  await patiently(ensureQueues, clock)
  const publisher = openPublisher({
    log,
    bus,
    work,
    clock,
    epoch,
    copies: options.copies,
    visible,
    report: (event) => appendIfPossible(event),
  })
  const cursor = openPublishedCursor(log, publisher)
  const admission = openAdmission(log)
  const appender = openAppender({
    open: (body) => openEvent(body, log.run),
    load: log.blobs.inSteps,
    admit: (event, user, group) =>
      refusalOf(user, event) ??
      admit(event) ??
      rollback.refusal(event) ??
      admission.admit(event, user, group),
    isOther(event, position) {
      const row = log.row(position)
      return row !== null && !isSameFact(decodeLogged(row.body, position, log.blobs.get), event)
    },
    authorOf: (subject) => authorOf(subject, subjects.log('append')),
    append: (events) => appendAndNote(events, false),
    kept: replica?.kept,
    deadLetters,
    clock,
    onCommit(failure) {
      if (failure?.code === 'log.disk-full') diskPause.pause(failure)
      publisher.publish()
    },
  })

  /** The queues of all work: only the head makes them. */
  async function ensureQueues(): Promise<void> {
    for (const queue of [...queuesOf(log.run, work), ...queues])
      await bus.ensureWorkQueue({ ...queue, ackWaitMs })
  }

  function appendAndNote(events: readonly CheckedEvent[], urgent: boolean): readonly Appended[] {
    if (events.length === 0) return []
    const appended = cursor.storeWith((meta) => log.append(events, { urgent, meta }))
    const fresh = events
      .map((event, index) => ({ event, ...itemAt(appended, index) }))
      .filter(({ duplicate }) => !duplicate)
    for (const { event, position } of fresh) publisher.note(event, position)
    replica?.note(fresh.map(({ event: { body }, position }) => ({ position, body })))
    isOver ||= fresh.some(({ event }) => event.envelope.type === 'RunCompleted')
    admission.observe(fresh)
    onAppended?.(fresh)
    return appended
  }

  function append(
    events: readonly NewEvent[],
    { cause = null, urgent = false }: { cause?: string | null; urgent?: boolean } = {},
  ): readonly Appended[] {
    const checked = events.map((event) => ownEvent(log, event, cause, platform))
    const appended = appendAndNote(checked, urgent)
    publisher.publish()
    return appended
  }

  function appendIfPossible(event: NewEvent): void {
    try {
      append([event], { urgent: true })
    } catch {
      // The disk is full to the last byte: `rl status` tells what it can.
    }
  }

  function announce(): void {
    diskPause.resume()
    if (!bus.connected()) return
    if (!publisher.isWhole()) void publisher.reconcile()
    const aside = options.aside?.() ?? []
    bus.publish(
      subjects.tap('head'),
      pack({
        position: publisher.published(),
        hash: log.hashAt(publisher.published()),
        epoch,
        time: clock.now(),
        ...(personPause.now() === null ? {} : { paused: true }),
        ...(isOver ? { over: true } : {}),
        ...(aside.length > 0 ? { aside } : {}),
      }),
    )
    if (diskPause.since() === null) cursor.keep()
  }

  /** Every answer of the log has the epoch. So an asker drops the answers of a former head. */
  const spoken = { [EPOCH_HEADER]: String(epoch) }
  const leave = [
    bus.serve(subjects.log('append'), null, appender.serve, spoken),
    bus.serve(subjects.log('append.*'), null, appender.serve, spoken),
    bus.serve(subjects.log('read'), null, reading(whileHeld(refusal, answers.read)), spoken),
    bus.serve(subjects.log('has'), null, reading(whileHeld(refusal, answers.has)), spoken),
    bus.serve(subjects.log('head'), null, answers.head, spoken),
    serveBlobs({ bus, log, guard: reading, headers: spoken, keep: replica?.keepBlob, clock }),
    bus.onFault(({ subject, body, error }) => deadLetters.add(subject, body, error)),
    bus.subscribe(subjects.tapOf('fault', '*'), ({ body }) => {
      const { subject, code, reason, body: message } = readFaultReport(body)
      deadLetters.add(subject, message, new RlError(reason, { code }))
    }),
    bus.onReconnect(() => void restore()),
  ]
  /**
   * Makes lost queues anew. A broker's store may be wiped, or a stream or a consumer deleted, while the run goes on.
   */
  async function remakeQueues(): Promise<void> {
    if (bus.connected()) await ensureQueues().catch(() => {})
  }
  async function restore(): Promise<void> {
    await remakeQueues()
    await publisher.reconcile()
  }
  await publisher.reconcile()
  replica?.onKept(publisher.publish)
  leave.push(clock.every(announceMs, announce))
  leave.push(clock.every(QUEUES_MS, () => void remakeQueues()))
  announce()

  return {
    append,
    openWork: publisher.openWork,
    queueFailures: publisher.queueFailures,
    queueTrouble: publisher.queueTrouble,
    pausedSince: diskPause.since,
    personPause,
    async close() {
      appender.close()
      deadLetters.write()
      await replica?.close()
      await publisher.confirm()
      announce()
      publisher.stop()
      for (const end of leave) end()
      await bus.flush().catch(() => {})
    },
  }
}

/** Returns the queues of work that is asked for by events, and of the roles' jobs. */
function queuesOf(run: string, work: readonly WorkKind[]): readonly WorkQueue[] {
  const kinds = work.map(({ type }) => eventQueue(run, type))
  const jobs = ROLES.map((role) => jobQueue(run, role))
  return [...kinds, ...jobs]
}

/** Encodes and checks an event of the head itself. */
function ownEvent(
  log: EventLog,
  event: NewEvent,
  cause: string | null,
  { clock, newId }: Platform,
): CheckedEvent {
  const { type, data } = event
  const id = newId()
  const envelope = {
    id,
    type,
    v: CATALOGUE[type].v,
    run: log.run,
    actor: 'head',
    time: clock.now(),
    cause,
  }
  const body = encodeEnvelope({ ...envelope, trace: traceparentOf(log.run, id, event), data })
  return checkWritten(log.check(body))
}
