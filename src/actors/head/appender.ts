/** Takes requests to append: checks each event at once, and commits what arrived in one turn of the event loop together. */
import type { Clock } from '../../clock.ts'
import { RlError } from '../../errors.ts'
import type { CheckedEvent } from '../../events/codec.ts'
import type { Appended } from '../../events/log.ts'
import { toWireError } from '../../events/log-client.ts'
import { type AppendReply, appendRequest, parseRequest } from '../../events/log-protocol.ts'
import { pack } from '../../events/msgpack.ts'
import type { User } from '../../events/users.ts'
import type { DeadLetters } from './dead-letters.ts'

export type Appender = {
  /** Answers `log.append` when the events are durable or refused. */
  readonly serve: (body: Uint8Array, subject: string) => Promise<Uint8Array>
  /** Refuses new requests and commits those that wait. */
  readonly close: () => void
}

export type AppenderOptions = {
  readonly check: (body: Uint8Array) => CheckedEvent
  /** May refuse an event that is well-formed. */
  readonly admit: (event: CheckedEvent, user: User) => RlError | null
  /** The user whose subject this is. */
  readonly authorOf: (subject: string) => User
  /** Appends all or nothing, durably. */
  readonly append: (events: readonly CheckedEvent[]) => readonly Appended[]
  /** Called after each commit, also one that failed. */
  readonly onCommit: (failure: RlError | null) => void
  readonly deadLetters: DeadLetters
  readonly clock: Clock
}

type Waiting = {
  readonly groups: readonly (readonly CheckedEvent[] | RlError)[]
  readonly bytes: number
  readonly resolve: (reply: AppendReply) => void
}

const BATCH_EVENTS = 4_096
const BATCH_BYTES = 8 * 1024 * 1024

export function openAppender(options: AppenderOptions): Appender {
  const { check, admit, authorOf, append, onCommit, deadLetters, clock } = options
  const waiting: Waiting[] = []
  let scheduled = false
  let closing = false

  function admitGroup(
    group: readonly Uint8Array[],
    user: User,
    subject: string,
  ): readonly CheckedEvent[] | RlError {
    try {
      const events = group.map(check)
      for (const event of events) {
        const refusal = admit(event, user)
        if (refusal) return refusal
      }
      return events
    } catch (error) {
      deadLetters.add(subject, group[0], error)
      return error instanceof RlError
        ? error
        : new RlError(String(error), { code: 'event.malformed', cause: error })
    }
  }

  function readRequest(body: Uint8Array, subject: string): { groups: Uint8Array[][]; user: User } {
    try {
      return { user: authorOf(subject), groups: parseRequest(appendRequest, body) }
    } catch (error) {
      deadLetters.add(subject, body, error)
      throw error
    }
  }

  function serve(body: Uint8Array, subject: string): Promise<Uint8Array> {
    if (closing) throw new RlError('the log service is closing', { code: 'log.closing' })
    const { groups, user } = readRequest(body, subject)
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
    clock.soon(() => {
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

  /** One transaction for a batch. A failure of the disk refuses it all: nothing of it was stored. */
  function commit(): void {
    const batch = takeBatch()
    const events = batch.flatMap(({ groups }) =>
      groups.flatMap((group) => (group instanceof RlError ? [] : group)),
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
    onCommit(failure)
  }

  return {
    serve,
    close() {
      closing = true
      while (waiting.length > 0) commit()
    },
  }
}
