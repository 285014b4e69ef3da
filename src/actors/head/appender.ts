/**
 * Takes requests to append. It checks each event, and commits the events of one turn of the event loop together. The
 * checks of a turn have a bound, and waiting users take turns. So one user's many requests hold up neither the loop nor
 * another user's.
 */

import type { Clock } from '../../clock.ts'
import { RlError } from '../../errors.ts'
import type { CheckedEvent } from '../../events/codec.ts'
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
import { itemAt } from '../../item-at.ts'
import { type CheckedGroup, type CheckOptions, checkGroups, type Steps, TURN } from './append-checks.ts'
import { commitSize } from './commit-size.ts'

export type Appender = {
  /** Answers `log.append` when the events are durable or refused. */
  readonly serve: (body: Uint8Array, subject: string) => Promise<Uint8Array>
  /** Refuses new and unchecked requests, and commits the others. */
  readonly close: () => void
}

export type AppenderOptions = CheckOptions & {
  /** Whether what stands at the position of a duplicate says something else. */
  readonly isOther: (event: CheckedEvent, position: number) => boolean
  /** The user whose subject this is. */
  readonly authorOf: (subject: string) => User
  /** Appends all or nothing, durably. */
  readonly append: (events: readonly CheckedEvent[]) => readonly Appended[]
  /** Resolves once others keep all that was appended too. Nobody hears of it before. Default: they need not. */
  readonly kept?: () => Promise<void>
  /** Called after each commit, even after a failed one. */
  readonly onCommit: (failure: RlError | null) => void
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

type Checked = Pick<Request, 'bytes' | 'subject' | 'resolve' | 'reject'> & {
  readonly groups: readonly CheckedGroup[]
}

/** One record of a replicated log, and so one message, holds a batch and its last request. */
const BATCH_BYTES = 4 * 1024 * 1024
/** While more requests wait for their check, checked ones wait for at most this number of turns. */
const TURNS_A_COMMIT = 8

export function openAppender(options: AppenderOptions): Appender {
  const { isOther, authorOf, append, kept, onCommit, deadLetters, clock } = options
  /** Unchecked requests by user. The user whose turn is next comes first. */
  const lanes = new Map<User, Request[]>()
  let inHand: { readonly request: Request; readonly steps: Steps<readonly CheckedGroup[]> } | null = null
  const checked: Checked[] = []
  let events = 0
  const size = commitSize()
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
      if (checked.length > 0 && (!isBehind || events >= size.most() || turns >= TURNS_A_COMMIT)) commit()
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
          const { bytes, subject, resolve, reject } = inHand.request
          checked.push({ groups: step.value, bytes, subject, resolve, reject })
          events += eventsOf(step.value)
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
      if (request) {
        const { groups, subject } = request
        return { request, steps: checkGroups(groups, user, subject, options) }
      }
    }
    return null
  }

  /** Commits a batch in one transaction. A failure of the disk refuses all of it: nothing was stored. */
  function commit(): void {
    const began = clock.monotonic()
    const batch = takeBatch(checked, size.most())
    for (const { groups } of batch) events -= eventsOf(groups)
    turns = 0
    const fresh = batch.flatMap(({ groups }) =>
      groups.flatMap((group) =>
        group instanceof RlError ? [] : group.flatMap(({ event, answered }) => (answered ? [] : event)),
      ),
    )
    let appended: readonly Appended[] = []
    let failure: RlError | null = null
    try {
      appended = append(fresh)
    } catch (error) {
      failure =
        error instanceof RlError ? error : new RlError(String(error), { code: 'log.failed', cause: error })
    }
    let at = 0
    const replies = batch.map(({ groups, subject }) =>
      groups.map((group) => {
        if (group instanceof RlError) return toWireError(group)
        if (failure) return toWireError(failure)
        return group.map(({ event, answered }) => toReply(event, answered ?? itemAt(appended, at++), subject))
      }),
    )
    const tell = () => {
      for (const [index, { resolve }] of batch.entries()) resolve(itemAt(replies, index))
    }
    if (kept) kept().then(tell, (error) => refuse(batch, error))
    else tell()
    onCommit(failure)
    if (!failure) size.took(fresh.length, clock.monotonic() - began)
  }

  /** They are asked again: another head, or this one later, has what was kept. */
  function refuse(batch: readonly Checked[], error: RlError): void {
    for (const { reject } of batch) reject(error)
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
      inHand?.steps.return([])
      inHand = null
      lanes.clear()
      while (checked.length > 0) commit()
    },
  }
}

function closed(): RlError {
  return new RlError('the log service is closing', { code: 'log.closing' })
}

/** Takes the requests of one commit: at least one, and more while they are few and short. */
function takeBatch(checked: Checked[], most: number): Checked[] {
  let batchEvents = 0
  let bytes = 0
  let count = 0
  for (const request of checked) {
    if (count > 0 && (batchEvents >= most || bytes >= BATCH_BYTES)) break
    bytes += request.bytes
    batchEvents += eventsOf(request.groups)
    count++
  }
  return checked.splice(0, count)
}

function eventsOf(groups: readonly CheckedGroup[]): number {
  return groups.reduce((count, group) => count + (group instanceof RlError ? 0 : group.length), 0)
}
