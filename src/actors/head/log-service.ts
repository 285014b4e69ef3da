/**
 * The head's ear and mouth: takes events, appends them, and publishes only what is durable. Requests that arrive in one
 * turn of the event loop share a transaction.
 */
import { explain, RlError } from '../../errors.ts'
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
import {
  type HasReply,
  type HeadReply,
  hasRequest,
  parseRequest,
  REQUEST_BOUNDS,
  type ReadReply,
  type ReadRequest,
  readRequest,
} from '../../events/log-protocol.ts'
import { pack } from '../../events/msgpack.ts'
import { patiently } from '../../events/patience.ts'
import { EPOCH_HEADER, subjectsOf } from '../../events/subjects.ts'
import { traceparentOf } from '../../events/trace.ts'
import { isUser, type User } from '../../events/users.ts'
import { type Platform, systemPlatform } from '../../platform/platform.ts'
import { eventQueue, jobQueue, type WorkKind } from '../runtime/work.ts'
import { isSameFact, openAdmission } from './admission.ts'
import { openAppender } from './appender.ts'
import { serveBlobs } from './blob-service.ts'
import { openDeadLetters } from './dead-letters.ts'
import { OLDEST_OPEN, openPublisher } from './publisher.ts'

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
  /** Why this head may not speak for the run now, or null: one that lost it would tell of its own log. */
  readonly refusal?: () => RlError | null
  /** Called after each commit, before anything is published, with what was really appended. */
  readonly onAppended?: (
    events: readonly { readonly event: CheckedEvent; readonly position: number }[],
  ) => void
  /** Of this head: one more than that of the head before. */
  readonly epoch?: number
  /** How often the last position is told to subscribers, and the cursor of what was published is kept. */
  readonly announceMs?: number
  /** After so much silence of a worker its work goes to another. */
  readonly ackWaitMs?: number
  readonly platform?: Platform
}

export type LogService = {
  /** Appends events of the head itself; `urgent` even when the disk is nearly full. */
  readonly append: (
    events: readonly NewEvent[],
    options?: { cause?: string | null; urgent?: boolean },
  ) => readonly Appended[]
  /** Work that was asked for and has no result in the log yet. */
  readonly openWork: () => number
  /** Publishes to queues that failed; each is tried again. */
  readonly queueFailures: () => number
  /** Since when appends are refused because the disk is nearly full (ms since 1970), or null. */
  readonly pausedSince: () => number | null
  /** Answers what is under way, publishes what is left, and stops. The log stays open. */
  readonly close: () => Promise<void>
}

const READ_BYTES = 700 * 1024
/** How often queues are looked after that may be gone. */
const QUEUES_MS = 2_000

export async function startLogService(options: LogServiceOptions): Promise<LogService> {
  const { log, bus, work = [], queues = [], admit = () => null, refusal = () => null, onAppended } = options
  const { epoch = 1, announceMs = 500, ackWaitMs = 4_000, platform = systemPlatform } = options
  const { clock } = platform
  const subjects = subjectsOf(log.run)
  const deadLetters = openDeadLetters(log, clock)
  /** The first position that this head can write. */
  const first = log.head().position + 1
  let pausedSince: number | null = null
  /** What the log does not know of the pause yet: the disk took not even that. */
  let untold: NewEvent | null = null
  let saved = Number(log.meta('published') ?? 0)

  await patiently(ensureQueues, clock)
  const publisher = openPublisher({
    log,
    bus,
    work,
    clock,
    epoch,
    report: (event) => appendIfPossible(event),
  })
  const admission = openAdmission(log)
  const appender = openAppender({
    open: (body) => openEvent(body, log.run),
    load: log.blobs.inSteps,
    admit: (event, user, group) =>
      refusalOf(user, event) ?? admit(event) ?? causeRefusal(event) ?? admission.admit(event, user, group),
    isOther,
    authorOf,
    append: (events) => appendAndNote(events, false),
    deadLetters,
    clock,
    onCommit(failure) {
      if (failure?.code === 'log.disk-full') pauseRun(failure)
      publisher.publish()
    },
  })

  /** The user whose subject this is: the broker lets nobody else publish there. */
  function authorOf(subject: string): User {
    if (subject === subjects.log('append')) return 'head'
    const user = subject.slice(subject.lastIndexOf('.') + 1)
    if (isUser(user)) return user
    throw new RlError(`there is no user ${JSON.stringify(user)}`, { code: 'bus.bad-request' })
  }

  /** Who decided by an event that is not here has read another log: one of a head that has lost the run since. */
  function causeRefusal({ envelope: { type, cause } }: CheckedEvent): RlError | null {
    if (cause === null || log.positionOf('id', cause) !== null) return null
    return rolledBack(`the cause of ${type} is not there: ${cause}`)
  }

  function isOther(event: CheckedEvent, position: number): boolean {
    const row = log.row(position)
    return row !== null && !isSameFact(decodeLogged(row.body, position, log.blobs.get), event)
  }

  function rolledBack(how: string): RlError {
    return new RlError(`the log of run '${log.run}' was rolled back: ${how}`, {
      code: 'log.rolled-back',
      hint: 'throw away what was made of its events and read from position 1',
    })
  }

  /** The queues of all work: only the head makes them. */
  async function ensureQueues(): Promise<void> {
    const kinds = work.map(({ type }) => eventQueue(log.run, type))
    const jobs = ROLES.map((role) => jobQueue(log.run, role))
    for (const queue of [...kinds, ...jobs, ...queues]) await bus.ensureWorkQueue({ ...queue, ackWaitMs })
  }

  function appendAndNote(events: readonly CheckedEvent[], urgent: boolean): readonly Appended[] {
    if (events.length === 0) return []
    const confirmed = publisher.confirmed()
    const meta =
      confirmed > saved
        ? { published: String(confirmed), [OLDEST_OPEN]: String(publisher.oldestOpen()) }
        : undefined
    const appended = log.append(events, { urgent, meta })
    if (meta) saved = confirmed
    const fresh = events
      .map((event, index) => ({ event, ...appended[index] }))
      .filter(({ duplicate }) => !duplicate)
    for (const { event, position } of fresh) publisher.note(event, position)
    admission.observe(fresh)
    onAppended?.(fresh)
    return appended
  }

  function pauseRun(reason: RlError): void {
    if (pausedSince !== null) return
    pausedSince = clock.now()
    untold = { type: 'RunPaused', data: { reason: explain(reason) } }
    try {
      append([untold], { urgent: true })
      untold = null
    } catch {
      // Not even the reserve is left: `log.head` and `rl status` tell the pause, and the log when it goes on.
    }
  }

  function resumeRun(): void {
    try {
      const resumed: NewEvent = { type: 'RunResumed', data: { reason: 'the disk takes events again' } }
      append(untold === null ? [resumed] : [untold, resumed])
      pausedSince = null
      untold = null
    } catch {
      // It still takes nothing; the next tick tries again.
    }
  }

  function append(
    events: readonly NewEvent[],
    { cause = null, urgent = false }: { cause?: string | null; urgent?: boolean } = {},
  ): readonly Appended[] {
    const checked = events.map((event) => {
      const { type, data } = event
      const id = platform.newId()
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
    })
    const appended = appendAndNote(checked, urgent)
    publisher.publish()
    return appended
  }

  function serveRead(body: Uint8Array): Uint8Array {
    const {
      from,
      until,
      types,
      limit,
      seen,
      epoch: heard,
    } = parseRequest(readRequest, body, REQUEST_BOUNDS.read)
    checkSeen(from - 1, seen, heard)
    const page = log.page({ from, until, types, limit, maxBytes: READ_BYTES })
    const reply: ReadReply = {
      events: page.events.map(({ position, body }) => [position, body] as const),
      next: page.next,
      hash: log.hashAt(page.next - 1),
      head: log.head().position,
    }
    return pack(reply)
  }

  /** Who knows more than the log, or something else, has read one that was rolled back since. Errors: `log.rolled-back`. */
  function checkSeen(known: number, seen: ReadRequest['seen'], heard = epoch): void {
    const { position } = log.head()
    const isOthers = heard > 0 && heard < epoch && known >= first
    const isSame = !seen || (seen.position <= position && log.hashAt(seen.position) === seen.hash)
    if (known > position || isOthers || !isSame)
      throw rolledBack(`position ${isSame ? known : seen?.position} is not what the reader saw`)
  }

  function serveHas(body: Uint8Array): Uint8Array {
    const { keys } = parseRequest(hasRequest, body, REQUEST_BOUNDS.has)
    const reply: HasReply = keys.map((key) => log.positionOf('key', key))
    return pack(reply)
  }

  function serveHead(): Uint8Array {
    const reply: HeadReply & { pausedSince: number | null } = {
      ...log.head(),
      deadLetters: log.deadLetters(0).total,
      pausedSince,
    }
    return pack(reply)
  }

  /** Answers only while the run is this head's. */
  function whileHeld(handler: (body: Uint8Array) => Uint8Array): (body: Uint8Array) => Uint8Array {
    return function serveWhileHeld(body) {
      const reason = refusal()
      if (reason) throw reason
      return handler(body)
    }
  }

  function deadLetteringErrors(handler: (body: Uint8Array, subject: string) => Uint8Array) {
    return function serveOrDeadLetter(body: Uint8Array, subject: string): Uint8Array {
      try {
        return handler(body, subject)
      } catch (error) {
        if (
          error instanceof RlError &&
          (error.code === 'event.malformed' || error.code === 'bus.bad-request')
        )
          deadLetters.add(subject, body, error)
        throw error
      }
    }
  }

  function appendIfPossible(event: NewEvent): void {
    try {
      append([event], { urgent: true })
    } catch {
      // The disk is full to the last byte: `rl status` tells what it can.
    }
  }

  function announce(): void {
    if (pausedSince !== null) resumeRun()
    if (!bus.connected()) return
    if (!publisher.isWhole()) void publisher.reconcile()
    bus.publish(
      subjects.tap('head'),
      pack({
        position: publisher.published(),
        hash: log.hashAt(publisher.published()),
        epoch,
        time: clock.now(),
      }),
    )
    keepCursor()
  }

  function keepCursor(): void {
    const confirmed = publisher.confirmed()
    if (confirmed <= saved || pausedSince !== null) return
    try {
      log.setMeta('published', String(confirmed))
      saved = confirmed
    } catch {
      // The disk is full: it is kept later, and what is published twice is dropped by its readers.
    }
  }

  /** On every answer of the log, so that who asks drops what a former head still says. */
  const spoken = { [EPOCH_HEADER]: String(epoch) }
  const leave = [
    bus.serve(subjects.log('append'), null, appender.serve, spoken),
    bus.serve(subjects.log('append.*'), null, appender.serve, spoken),
    bus.serve(subjects.log('read'), null, deadLetteringErrors(whileHeld(serveRead)), spoken),
    bus.serve(subjects.log('has'), null, deadLetteringErrors(whileHeld(serveHas)), spoken),
    bus.serve(subjects.log('head'), null, serveHead, spoken),
    serveBlobs(bus, log, deadLetteringErrors, spoken, clock),
    bus.onFault(({ subject, body, error }) => deadLetters.add(subject, body, error)),
    bus.subscribe(subjects.tapOf('fault', '*'), ({ body }) => {
      const { subject, code, reason, body: message } = readFaultReport(body)
      deadLetters.add(subject, message, new RlError(reason, { code }))
    }),
    bus.onReconnect(() => void restore()),
  ]
  /** A broker's store may be wiped, a stream or a consumer deleted, while the run goes on. */
  async function remakeQueues(): Promise<void> {
    if (bus.connected()) await ensureQueues().catch(() => {})
  }
  async function restore(): Promise<void> {
    await remakeQueues()
    await publisher.reconcile()
  }
  await publisher.reconcile()
  leave.push(clock.every(announceMs, announce))
  leave.push(clock.every(QUEUES_MS, () => void remakeQueues()))
  announce()

  return {
    append,
    openWork: publisher.openWork,
    queueFailures: publisher.queueFailures,
    pausedSince: () => pausedSince,
    async close() {
      appender.close()
      deadLetters.write()
      await publisher.confirm()
      announce()
      publisher.stop()
      for (const end of leave) end()
      await bus.flush().catch(() => {})
    },
  }
}
