/** Checks the events of a request to append, in small steps: the caller decides how many fit into a turn. */
import { RlError } from '../../errors.ts'
import {
  type BlobRef,
  type CheckedEvent,
  checkOpened,
  checkWritten,
  type OpenedEvent,
} from '../../events/codec.ts'
import type { Appended } from '../../events/log.ts'
import type { User } from '../../events/users.ts'
import type { DeadLetters } from './dead-letters.ts'

/** Work in pieces. Each piece tells its cost. */
export type Steps<Result> = Generator<number, Result>

/** An event that is to be appended, or that is answered without appending. */
type Admitted = { readonly event: CheckedEvent; readonly answered: Appended | null }

/** The events of a group, which are appended together, or why the group is refused. */
export type CheckedGroup = readonly Admitted[] | RlError

export type CheckOptions = {
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
  readonly deadLetters: Pick<DeadLetters, 'add'>
}

/** Largest cost of a turn of the event loop, in bytes: it takes some 10 ms. */
export const TURN = 4 * 1024 * 1024
/** Cost of an event and of each of its bytes: decoding and checking take longer than reading. */
const EVENT_COST = 16 * 1024
const BYTE_COST = 8

/** Checks the groups of a request, in order. */
export function* checkGroups(
  groups: readonly (readonly Uint8Array[])[],
  user: User,
  subject: string,
  options: CheckOptions,
): Steps<readonly CheckedGroup[]> {
  const results: CheckedGroup[] = []
  for (const group of groups) results.push(yield* checkGroup(group, user, subject, options))
  return results
}

function* checkGroup(
  group: readonly Uint8Array[],
  user: User,
  subject: string,
  { open, load, admit, deadLetters }: CheckOptions,
): Steps<CheckedGroup> {
  try {
    const events: CheckedEvent[] = []
    for (const body of group) {
      yield EVENT_COST + BYTE_COST * body.byteLength
      events.push(yield* checkEvent(body, open, load))
    }
    const admitted: Admitted[] = []
    for (const event of events) {
      const answered = admit(event, user, events)
      if (answered instanceof RlError) return answered
      admitted.push({ event, answered })
    }
    return admitted
  } catch (error) {
    deadLetters.add(subject, group[0] ?? new Uint8Array(), error)
    return error instanceof RlError
      ? error
      : new RlError(String(error), { code: 'event.malformed', cause: error })
  }
}

function* checkEvent(
  body: Uint8Array,
  open: CheckOptions['open'],
  load: CheckOptions['load'],
): Steps<CheckedEvent> {
  const opened = open(body)
  if (opened.blob === null) return checkWritten(checkOpened(opened))
  const content = yield* load(opened.blob)
  // Decoded in a turn of its own: a blob holds many values.
  yield TURN
  return checkWritten(checkOpened(opened, content))
}
