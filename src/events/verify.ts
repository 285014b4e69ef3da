/** Checks a whole log: positions, hash chain, columns against bodies, look-ups, schemas, blobs and pages. Names the first bad position. */

import { explain } from '../errors.ts'
import { itemAt } from '../item-at.ts'
import type { NewEvent } from './catalogue.ts'
import { type BlobRef, checkEvent } from './codec.ts'
import { collectedIn } from './collected.ts'
import { chainHash, genesisHash } from './log.ts'
import type { LogFault } from './log-faults.ts'
import { readMark } from './log-mark.ts'
import type { LogReader } from './log-reader.ts'
import type { LogRow } from './log-rows.ts'

export type Verification =
  | { readonly ok: true; readonly events: number; readonly hash: string }
  | {
      readonly ok: false
      /** Number of good events before it. */
      readonly events: number
      /** Null if the file is at fault, and no single event. */
      readonly position: number | null
      readonly reason: string
    }

/**
 * Checks a log. A fork is checked from its parent's first event on.
 * @param files also checks files that events name as blobs of the run, e.g. screens; decisions do not depend on them
 */
export function verifyLog(
  log: LogReader,
  { files = false }: { readonly files?: boolean } = {},
): Verification {
  // Before the end of the log: its writer appends first, and marks then.
  const mark = readMark(log.path)
  const { position: last } = log.head()
  const runs = runsOf(log)
  const unfound = fileFault(log)
  let hash = genesisHash(itemAt(runs, 0).run)
  for (let position = 1; position <= last; position++) {
    const bad = (reason: string) => ({ ok: false, events: position - 1, position, reason }) as const
    const row = rowOf(log, position)
    if (typeof row === 'string') return bad(row)
    const expected = chainHash(hash, position, row.body)
    if (!expected.equals(row.hash)) return bad('its body or the hash chain was changed')
    const reason = faultOf(row, log, runOf(runs, position), files) ?? lookUpFault(row, log)
    if (reason !== null) return bad(reason)
    if (unfound?.position === position) return bad(unfound.reason)
    hash = expected
  }
  // The cursor of published events and the mark of an unclosed log are never ahead of it. If one is, its end is gone.
  const published = Number(log.meta('published') ?? 0)
  const marked = mark?.closed === null ? mark.position : 0
  if (Math.max(published, marked) > last)
    return { ok: false, events: last, position: last + 1, reason: 'the event is missing at the end' }
  if (unfound) return { ok: false, events: last, ...unfound }
  return { ok: true, events: last, hash: hash.toString('hex') }
}

/** Faults of the log's own file, then of its parents' files. */
function fileFault(log: LogReader): LogFault | null {
  return log.fault('whole') ?? (log.parentLog && fileFault(log.parentLog))
}

/** Checks that look-ups find an event at its position. A key that stands twice is found at one place only. */
function lookUpFault({ id, key, position }: LogRow, log: LogReader): string | null {
  try {
    for (const [column, value] of [['id', id] as const, ['key', key] as const]) {
      const found = value === null ? position : log.positionOf(column, value)
      if (found !== position)
        return `its ${column} is found ${found === null ? 'nowhere' : `at position ${found}`}`
    }
    return null
  } catch (error) {
    return `it cannot be looked up: ${explain(error)}`
  }
}

/** Returns the row, or why there is none. Its body may be in a missing or damaged segment. */
function rowOf(log: LogReader, position: number): LogRow | string {
  try {
    return log.row(position) ?? 'the event is missing'
  } catch (error) {
    return explain(error)
  }
}

function faultOf(row: LogRow, log: LogReader, run: string, files: boolean): string | null {
  try {
    const { envelope, key, stream } = checkEvent(row.body, run, log.blobs.get)
    if (files) for (const ref of filesOf(envelope, log)) log.blobs.get(ref)
    const told = {
      id: envelope.id,
      key,
      type: envelope.type,
      stream,
      time: envelope.time,
      cause: envelope.cause,
    }
    for (const [column, value] of Object.entries(told))
      if (row[column as keyof typeof told] !== stored(value))
        return `column ${column} does not agree with the event`
    return null
  } catch (error) {
    return explain(error)
  }
}

/** Returns the files that an event names as blobs of the run. */
function filesOf({ type, data }: NewEvent, log: LogReader): readonly BlobRef[] {
  if (type === 'BatchReady') return [data.file]
  if (type === 'CheckpointShared') {
    const isGone = data.store !== undefined || collectedIn(log, data.role).has(data.version)
    return isGone ? [] : data.files.flatMap(({ parts }) => parts)
  }
  if (type === 'OwnFilesRecorded')
    return data.files.flatMap(({ shared = [] }) => shared.flatMap(({ parts }) => parts))
  return type === 'FramesRecorded' ? data.frames : []
}

/** Returns a text as a column gives it back. Half of a surrogate pair (a text was cut there) becomes U+FFFD. */
function stored<Value>(value: Value): Value | string {
  return typeof value === 'string' ? Buffer.from(value).toString() : value
}

type Stretch = { readonly run: string; readonly until: number }

/** Returns which log holds which events, the oldest ancestor first. */
function runsOf(log: LogReader): readonly Stretch[] {
  let until = Infinity
  const stretches: Stretch[] = [{ run: log.run, until }]
  for (let reader: LogReader | null = log; reader?.parent; reader = reader.parentLog) {
    const { run, position } = reader.parent
    until = Math.min(position, until)
    stretches.unshift({ run, until })
  }
  return stretches
}

function runOf(stretches: readonly Stretch[], position: number): string {
  return (stretches.find(({ until }) => position <= until) ?? itemAt(stretches, stretches.length - 1)).run
}
