/**
 * The head's ear and mouth: takes events, appends them, and publishes only what is durable. Requests that arrive in one
 * turn of the event loop share a transaction.
 */

import { uuidv7 } from 'uuidv7'
import { RlError } from '../../errors.ts'
import { refusalOf } from '../../events/authority.ts'
import type { Bus } from '../../events/bus.ts'
import type { NewEvent } from '../../events/catalogue.ts'
import { CATALOGUE } from '../../events/catalogue.ts'
import { type CheckedEvent, decodeLogged, encodeEnvelope } from '../../events/codec.ts'
import type { Appended, EventLog, NewDeadLetter } from '../../events/log.ts'
import { toWireError } from '../../events/log-client.ts'
import {
  type AppendReply,
  appendRequest,
  type HasReply,
  type HeadReply,
  hasRequest,
  parseRequest,
  type ReadReply,
  readRequest,
} from '../../events/log-protocol.ts'
import { pack } from '../../events/msgpack.ts'
import { POSITION_HEADER, subjectsOf } from '../../events/subjects.ts'
import { isUser, type User } from '../../events/users.ts'
import { eventQueue, type WorkKind } from '../runtime/work.ts'
import { serveBlobs } from './blob-service.ts'

/** May refuse an event that is well-formed, e.g. a second decider of a role. Sees every new event in order. */
export type Admit = (event: CheckedEvent) => RlError | null

export type LogServiceOptions = {
  readonly log: EventLog
  readonly bus: Bus
  /** Kinds of work that have a queue. */
  readonly work?: readonly WorkKind[]
  readonly admit?: Admit
  /** Called after each commit, before anything is published, with what was really appended. */
  readonly onAppended?: (
    events: readonly { readonly event: CheckedEvent; readonly position: number }[],
  ) => void
  /** How often the last position is told to subscribers, and the cursor of what was published is kept. */
  readonly announceMs?: number
}

export type LogService = {
  /** Appends events of the head itself; `urgent` even when the disk is nearly full. */
  readonly append: (
    events: readonly NewEvent[],
    options?: { cause?: string | null; urgent?: boolean },
  ) => readonly Appended[]
  /** Work that was asked for and has no result in the log yet. */
  readonly openWork: () => number
  /** Since when appends are refused because the disk is nearly full (ms since 1970), or null. */
  readonly pausedSince: () => number | null
  /** Answers what is under way, publishes what is left, and stops. The log stays open. */
  readonly close: () => Promise<void>
}

type Waiting = {
  readonly groups: readonly (readonly CheckedEvent[] | RlError)[]
  readonly bytes: number
  readonly resolve: (reply: AppendReply) => void
}

const BATCH_EVENTS = 4_096
const BATCH_BYTES = 8 * 1024 * 1024
const READ_BYTES = 700 * 1024

export async function startLogService(options: LogServiceOptions): Promise<LogService> {
  const { log, bus, work = [], admit = () => null, onAppended, announceMs = 500 } = options
  const subjects = subjectsOf(log.run)
  const workOf = new Map(work.map((kind) => [kind.type as string, kind]))
  /** Work without a result: position of the request by the natural key of its result. */
  const open = new Map<string, number>()
  let waiting: Waiting[] = []
  let scheduled = false
  let closing = false
  let pausedSince: number | null = null
  /** Last position given to the connection, and the last that the broker certainly has. */
  let published = Number(log.meta('published') ?? 0)
  let confirmed = published
  let saved = published

  for (const { type } of work) await bus.ensureWorkQueue(eventQueue(log.run, type))
  for (const event of log.events({ types: work.map(({ type }) => type) })) {
    if (work.length === 0) break
    const key = workOf.get(event.type)?.done(event)
    if (key !== undefined && log.positionOf('key', key) === null) open.set(key, event.position)
  }

  function admitGroup(
    group: readonly Uint8Array[],
    user: User,
    subject: string,
  ): readonly CheckedEvent[] | RlError {
    try {
      const events = group.map((body) => log.check(body))
      for (const event of events) {
        const refusal = refusalOf(user, event) ?? admit(event)
        if (refusal) return refusal
      }
      return events
    } catch (error) {
      deadLetter(subject, group[0], error)
      return error instanceof RlError
        ? error
        : new RlError(String(error), { code: 'event.malformed', cause: error })
    }
  }

  /** The user whose subject this is: the broker lets nobody else publish there. */
  function authorOf(subject: string): User {
    if (subject === subjects.log('append')) return 'head'
    const user = subject.slice(subject.lastIndexOf('.') + 1)
    if (isUser(user)) return user
    throw new RlError(`there is no user ${JSON.stringify(user)}`, { code: 'bus.bad-request' })
  }

  /** Bad messages of one turn share a transaction too: a flood of them must not hold up the good ones. */
  let letters: NewDeadLetter[] = []
  function deadLetter(subject: string, body: Uint8Array, error: unknown): void {
    const { code, message } = toWireError(error)
    if (letters.length === 0) setImmediate(writeLetters)
    letters.push({ subject, code, reason: message, body })
  }

  function writeLetters(): void {
    const batch = letters
    letters = []
    try {
      if (batch.length > 0) log.addDeadLetters(batch)
    } catch {
      // A full disk must not turn a bad message into a crash: the sender has its error in any case.
    }
  }

  function serveAppend(body: Uint8Array, subject: string): Promise<Uint8Array> {
    if (closing) throw new RlError('the log service is closing', { code: 'log.closing' })
    let groups: Uint8Array[][]
    let user: User
    try {
      user = authorOf(subject)
      groups = parseRequest(appendRequest, body)
    } catch (error) {
      deadLetter(subject, body, error)
      throw error
    }
    return new Promise((resolve) => {
      waiting.push({
        groups: groups.map((group) => admitGroup(group, user, subject)),
        bytes: body.byteLength,
        resolve: (reply) => resolve(pack(reply)),
      })
      schedule()
    })
  }

  function schedule(): void {
    if (scheduled) return
    scheduled = true
    setImmediate(() => {
      scheduled = false
      commit()
      if (waiting.length > 0) schedule()
    })
  }

  function takeBatch(): Waiting[] {
    let events = 0
    let bytes = 0
    let count = 0
    while (count < waiting.length && (count === 0 || (events < BATCH_EVENTS && bytes < BATCH_BYTES))) {
      bytes += waiting[count].bytes
      for (const group of waiting[count].groups) if (!(group instanceof RlError)) events += group.length
      count++
    }
    return waiting.splice(0, count)
  }

  /** One transaction for all that waits. A failure of the disk refuses them all: nothing of them was stored. */
  function commit(): void {
    const batch = takeBatch()
    const events = batch.flatMap(({ groups }) =>
      groups.flatMap((group) => (group instanceof RlError ? [] : group)),
    )
    let appended: readonly Appended[] = []
    let failure: RlError | null = null
    try {
      appended = appendAndRemember(events, false)
    } catch (error) {
      failure =
        error instanceof RlError ? error : new RlError(String(error), { code: 'log.failed', cause: error })
      if (failure.code === 'log.disk-full') pauseRun(failure)
    }
    let at = 0
    for (const { groups, resolve } of batch)
      resolve(
        groups.map((group) => {
          if (group instanceof RlError) return toWireError(group)
          if (failure) return toWireError(failure)
          return group.map(() => {
            const { position, duplicate } = appended[at++]
            return [position, duplicate ? 1 : 0] as const
          })
        }),
      )
    publishUpTo(log.head().position)
  }

  function appendAndRemember(events: readonly CheckedEvent[], urgent: boolean): readonly Appended[] {
    if (events.length === 0) return []
    const meta = confirmed > saved ? { published: String(confirmed) } : undefined
    const appended = log.append(events, { urgent, meta })
    if (meta) saved = confirmed
    const fresh = events
      .map((event, index) => ({ event, ...appended[index] }))
      .filter(({ duplicate }) => !duplicate)
    for (const { event, position } of fresh) {
      recent.push({ position, type: event.envelope.type, id: event.envelope.id, body: event.body })
      trackWork(event, position)
    }
    onAppended?.(fresh)
    return appended
  }

  function trackWork({ key, envelope }: CheckedEvent, position: number): void {
    if (key !== null) open.delete(key)
    const kind = workOf.get(envelope.type)
    if (kind) open.set(kind.done({ ...envelope, position } as Parameters<WorkKind['done']>[0]), position)
  }

  type Published = { position: number; type: string; id: string; body: Uint8Array }
  /** Appended and not yet published. */
  let recent: Published[] = []

  function publishUpTo(last: number): void {
    const events = recent
    recent = []
    if (!bus.connected()) return
    for (const event of events) publish(event)
    published = Math.max(published, last)
    void confirm()
  }

  function publish({ position, type, id, body }: Published): void {
    const headers = { [POSITION_HEADER]: String(position) }
    if (workOf.has(type)) void bus.publishWork(subjects.evt(type), body, id, headers).catch(() => {})
    else bus.publish(subjects.evt(type), body, headers)
  }

  let confirming = false
  async function confirm(): Promise<void> {
    if (confirming) return
    confirming = true
    try {
      while (confirmed < published) {
        const reached = published
        await bus.flush()
        confirmed = reached
      }
    } catch {
      // The connection broke: after it is back, everything above `confirmed` is published again.
    } finally {
      confirming = false
    }
  }

  /** Publishes what the broker may have missed, and hands out again the work that nobody finished. Readers drop what they have. */
  async function reconcile(): Promise<void> {
    for (let next = confirmed + 1; ; ) {
      const page = log.page({ from: next, limit: 1_000 })
      for (const { position, body } of page.events) {
        const { type, id } = decodeLogged(body, position, log.blobs.get)
        publish({ position, type, id, body })
      }
      if (page.next === next) break
      next = page.next
      published = Math.max(published, next - 1)
      await confirm()
      if (!bus.connected()) return
    }
    for (const position of [...open.values()]) {
      const row = log.row(position)
      if (!row || !bus.connected()) continue
      const headers = { [POSITION_HEADER]: String(position) }
      await bus.publishWork(subjects.evt(row.type), row.body, row.id, headers).catch(() => {})
    }
  }

  function pauseRun(reason: RlError): void {
    if (pausedSince !== null) return
    pausedSince = Date.now()
    try {
      append([{ type: 'RunPaused', data: { reason: reason.message } }], { urgent: true })
    } catch {
      // Not even the reserve is left: the pause is still told by `log.head` and `rl status`.
    }
  }

  function resumeRun(): void {
    try {
      append([{ type: 'RunResumed', data: { reason: 'there is room on the disk again' } }])
      pausedSince = null
    } catch {
      // Still full; the next tick tries again.
    }
  }

  function append(
    events: readonly NewEvent[],
    { cause = null, urgent = false }: { cause?: string | null; urgent?: boolean } = {},
  ): readonly Appended[] {
    const checked = events.map(({ type, data }) =>
      log.check(
        encodeEnvelope({
          id: uuidv7(),
          type,
          v: CATALOGUE[type].v,
          run: log.run,
          actor: 'head',
          time: Date.now(),
          cause,
          data,
        }),
      ),
    )
    const appended = appendAndRemember(checked, urgent)
    publishUpTo(log.head().position)
    return appended
  }

  function serveRead(body: Uint8Array): Uint8Array {
    const { from, until, types, limit } = parseRequest(readRequest, body)
    const page = log.page({ from, until, types, limit, maxBytes: READ_BYTES })
    const reply: ReadReply = {
      events: page.events.map(({ position, body }) => [position, body] as const),
      next: page.next,
      head: log.head().position,
    }
    return pack(reply)
  }

  function serveHas(body: Uint8Array): Uint8Array {
    const { keys } = parseRequest(hasRequest, body)
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

  function deadLetteringErrors(handler: (body: Uint8Array, subject: string) => Uint8Array) {
    return function serveOrDeadLetter(body: Uint8Array, subject: string): Uint8Array {
      try {
        return handler(body, subject)
      } catch (error) {
        if (
          error instanceof RlError &&
          (error.code === 'event.malformed' || error.code === 'bus.bad-request')
        )
          deadLetter(subject, body, error)
        throw error
      }
    }
  }

  function announce(): void {
    if (pausedSince !== null) resumeRun()
    if (!bus.connected()) return
    bus.publish(subjects.tap('head'), pack({ position: published, time: Date.now() }))
    if (confirmed > saved && pausedSince === null) {
      log.setMeta('published', String(confirmed))
      saved = confirmed
    }
  }

  const leave = [
    bus.serve(subjects.log('append'), null, serveAppend),
    bus.serve(subjects.log('append.*'), null, serveAppend),
    bus.serve(subjects.log('read'), null, deadLetteringErrors(serveRead)),
    bus.serve(subjects.log('has'), null, deadLetteringErrors(serveHas)),
    bus.serve(subjects.log('head'), null, serveHead),
    serveBlobs(bus, log, deadLetteringErrors),
    bus.onReconnect(() => void restore()),
  ]
  async function restore(): Promise<void> {
    for (const { type } of work) await bus.ensureWorkQueue(eventQueue(log.run, type)).catch(() => {})
    await reconcile()
  }
  await reconcile()
  const timer = setInterval(announce, announceMs)
  announce()

  return {
    append,
    openWork: () => open.size,
    pausedSince: () => pausedSince,
    async close() {
      closing = true
      clearInterval(timer)
      while (waiting.length > 0) commit()
      writeLetters()
      await confirm()
      announce()
      for (const unsubscribe of leave) unsubscribe()
      await bus.flush().catch(() => {})
      waiting = []
    },
  }
}
