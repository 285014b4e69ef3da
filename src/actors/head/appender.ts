/**
 * Takes requests to append. It checks each event, and commits the events of one turn of the event loop together. The
 * checks of a turn have a bound, and waiting users take turns. So one user's many requests hold up neither the loop nor
 * another user's.
 */
import type { Clock } from '../../clock.ts'
import { RlError } from '../../errors.ts'
import {
  type BlobRef,
  type CheckedEvent,
  checkOpened,
  checkWritten,
  type OpenedEvent,
} from '../../events/codec.ts'
import type { Appended } from '../../events/log.ts'
import { toWireError } from '../../events/log-client.ts'
import {
  type AppendedReply,
  type AppendReply,
  type AppendRequest,
  parseAppend,
} from '../../events/log-protocol.ts'
import { pack } from '../../events/msgpack.ts'
import type { User } from '../../events/users.ts'
import type { DeadLetters } from './dead-letters.ts'

export type Appender = {
  /** Answers `log.append` when the events are durable or refused. */
  readonly serve: (body: Uint8Array, subject: string) => Promise<Uint8Array>
  /** Refuses new and unchecked requests, and commits the others. */
  readonly close: () => void
}

export type AppenderOptions = {
  /** Decodes an event and checks its envelope. */
  readonly open: (body: Uint8Array) => OpenedEvent
  /** Reads a blob in steps that tell the bytes they took. */
  readonly load: (ref: BlobRef) => Steps<Uint8Array>
  /**
   * May refuse a well-formed event. If its work is over, it returns the position of that end: the event is answered,
   * but not appended.
   *
   * @param group events that are appended together with it
   */
  readonly admit: (
    event: CheckedEvent,
    user: User,
    group: readonly CheckedEvent[],
  ) => RlError | Appended | null
  /** Whether what stands at the position of a duplicate says something else. */
  readonly isOther: (event: CheckedEvent, position: number) => boolean
  /** The user whose subject this is. */
  readonly authorOf: (subject: string) => User
  /** Appends all or nothing, durably. */
  readonly append: (events: readonly CheckedEvent[]) => readonly Appended[]
  /** Called after each commit, even after a failed one. */
  readonly onCommit: (failure: RlError | null) => void
  readonly deadLetters: DeadLetters
  readonly clock: Clock
}

type Request = {
  readonly groups: AppendRequest
  readonly bytes: number
  readonly user: User
  readonly subject: string
  readonly resolve: (reply: AppendReply) => void
  readonly reject: (error: RlError) => void
}

/** An event that is to be appended, or that is answered without appending. */
type Admitted = { readonly event: CheckedEvent; readonly answered: Appended | null }

type Checked = Pick<Request, 'bytes' | 'subject' | 'resolve'> & {
  readonly groups: readonly (readonly Admitted[] | RlError)[]
}

/** Work in pieces. Each piece tells its cost. */
type Steps<Result> = Generator<number, Result>

const BATCH_EVENTS = 1_024
const BATCH_BYTES = 8 * 1024 * 1024
/** Largest cost of a turn of the event loop, in bytes: it takes some 10 ms. */
const TURN = 4 * 1024 * 1024
/** Cost of an event and of each of its bytes: decoding and checking take longer than reading. */
const EVENT_COST = 16 * 1024
const BYTE_COST = 8
/** While more requests wait for their check, checked ones wait for at most this number of turns. */
const TURNS_A_COMMIT = 8

export function openAppender(options: AppenderOptions): Appender {
  const { open, load, admit, isOther, authorOf, append, onCommit, deadLetters, clock } = options
  /** Unchecked requests by user. The user whose turn is next comes first. */
  const lanes = new Map<User, Request[]>()
  let inHand: { readonly request: Request; readonly steps: Steps<Checked> } | null = null
  const checked: Checked[] = []
  let events = 0
  let left = TURN
  let turns = 0
  let scheduled = false
  let closing = false

  function serve(body: Uint8Array, subject: string): Promise<Uint8Array> {
    if (closing) throw closed()
    const { groups, user } = readRequest(body, subject)
    return new Promise((resolve, reject) => {
      const answer = (reply: AppendReply) => resolve(pack(reply))
      const request = { groups, bytes: body.byteLength, user, subject, resolve: answer, reject }
      const lane = lanes.get(user)
      if (lane) lane.push(request)
      else lanes.set(user, [request])
      check()
      schedule()
    })
  }

  function readRequest(body: Uint8Array, subject: string): { groups: AppendRequest; user: User } {
    try {
      return { user: authorOf(subject), groups: parseAppend(body) }
    } catch (error) {
      deadLetters.add(subject, body, error)
      throw error
    }
  }

  /** Once a turn, as long as there is anything to do. */
  function schedule(): void {
    if (scheduled) return
    scheduled = true
    clock.soon(() => {
      scheduled = false
      turns++
      const isBehind = inHand !== null || lanes.size > 0
      if (checked.length > 0 && (!isBehind || events >= BATCH_EVENTS || turns >= TURNS_A_COMMIT)) commit()
      left = TURN
      check()
      if (inHand !== null || lanes.size > 0 || checked.length > 0) schedule()
    })
  }

  /** Checks what waits, until the turn is spent. */
  function check(): void {
    for (;;) {
      inHand ??= nextRequest()
      if (inHand === null) return
      while (left > 0) {
        const step = inHand.steps.next()
        if (step.done) {
          checked.push(step.value)
          for (const group of step.value.groups) if (!(group instanceof RlError)) events += group.length
          inHand = null
          break
        }
        left -= step.value
      }
      if (left <= 0) return
    }
  }

  function nextRequest(): typeof inHand {
    for (const [user, lane] of lanes) {
      const request = lane.shift()
      lanes.delete(user)
      if (lane.length > 0) lanes.set(user, lane)
      if (request) return { request, steps: checkRequest(request) }
    }
    return null
  }

  function* checkRequest({ groups, bytes, user, subject, resolve }: Request): Steps<Checked> {
    const results: Checked['groups'][number][] = []
    for (const group of groups) results.push(yield* checkGroup(group, user, subject))
    return { groups: results, bytes, subject, resolve }
  }

  function* checkGroup(
    group: readonly Uint8Array[],
    user: User,
    subject: string,
  ): Steps<readonly Admitted[] | RlError> {
    try {
      const events: CheckedEvent[] = []
      for (const body of group) {
        yield EVENT_COST + BYTE_COST * body.byteLength
        events.push(yield* checkEvent(body))
      }
      const admitted: Admitted[] = []
      for (const event of events) {
        const answered = admit(event, user, events)
        if (answered instanceof RlError) return answered
        admitted.push({ event, answered })
      }
      return admitted
    } catch (error) {
      deadLetters.add(subject, group[0], error)
      return error instanceof RlError
        ? error
        : new RlError(String(error), { code: 'event.malformed', cause: error })
    }
  }

  function* checkEvent(body: Uint8Array): Steps<CheckedEvent> {
    const opened = open(body)
    if (opened.blob === null) return checkWritten(checkOpened(opened))
    const content = yield* load(opened.blob)
    // Decoded in a turn of its own: a blob holds many values.
    yield TURN
    return checkWritten(checkOpened(opened, content))
  }

  function takeBatch(): Checked[] {
    let batchEvents = 0
    let bytes = 0
    let count = 0
    while (count < checked.length && (count === 0 || (batchEvents < BATCH_EVENTS && bytes < BATCH_BYTES))) {
      bytes += checked[count].bytes
      for (const group of checked[count].groups) if (!(group instanceof RlError)) batchEvents += group.length
      count++
    }
    events -= batchEvents
    turns = 0
    return checked.splice(0, count)
  }

  /** Commits a batch in one transaction. A failure of the disk refuses all of it: nothing was stored. */
  function commit(): void {
    const batch = takeBatch()
    const events = batch.flatMap(({ groups }) =>
      groups.flatMap((group) =>
        group instanceof RlError ? [] : group.flatMap(({ event, answered }) => (answered ? [] : event)),
      ),
    )
    let appended: readonly Appended[] = []
    let failure: RlError | null = null
    try {
      appended = append(events)
    } catch (error) {
      failure =
        error instanceof RlError ? error : new RlError(String(error), { code: 'log.failed', cause: error })
    }
    let at = 0
    for (const { groups, subject, resolve } of batch)
      resolve(
        groups.map((group) => {
          if (group instanceof RlError) return toWireError(group)
          if (failure) return toWireError(failure)
          return group.map(({ event, answered }) => toReply(event, answered ?? appended[at++], subject))
        }),
      )
    onCommit(failure)
  }

  /**
   * Returns the reply. If the log has another result already, the sender is told, and the dropped result is kept for
   * people to look at.
   */
  function toReply(
    event: CheckedEvent,
    { position, duplicate, other }: Appended,
    subject: string,
  ): AppendedReply {
    if (!duplicate) return [position, 0]
    if (!other && !isOther(event, position)) return [position, 1]
    const name = event.key ?? event.envelope.type
    const reason = `${name} of ${event.envelope.actor} is not kept: the log has another at position ${position}`
    deadLetters.add(subject, event.body, new RlError(reason, { code: 'log.taken' }))
    return [position, 1, 1]
  }

  return {
    serve,
    close() {
      closing = true
      const unchecked = [...(inHand ? [inHand.request] : []), ...[...lanes.values()].flat()]
      for (const { reject } of unchecked) reject(closed())
      inHand?.steps.return({ groups: [], bytes: 0, subject: '', resolve: () => {} })
      inHand = null
      lanes.clear()
      while (checked.length > 0) commit()
    },
  }
}

function closed(): RlError {
  return new RlError('the log service is closing', { code: 'log.closing' })
}
