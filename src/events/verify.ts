/** Checks a whole log: positions, hash chain, columns against bodies, schemas and blobs; names the first bad position. */
import { explain } from '../errors.ts'
import { checkEvent } from './codec.ts'
import { chainHash, genesisHash } from './log.ts'
import type { LogReader, LogRow } from './log-reader.ts'

export type Verification =
  | { readonly ok: true; readonly events: number; readonly hash: string }
  | { readonly ok: false; readonly events: number; readonly position: number; readonly reason: string }

/** A fork is checked from its parent's first event on. */
export function verifyLog(log: LogReader): Verification {
  const { position: last } = log.head()
  const runs = runsOf(log)
  let hash = genesisHash(runs[0].run)
  for (let position = 1; position <= last; position++) {
    const events = position - 1
    const row = rowOf(log, position)
    if (typeof row === 'string') return { ok: false, events, position, reason: row }
    const expected = chainHash(hash, position, row.body)
    if (!expected.equals(row.hash))
      return { ok: false, events, position, reason: 'its body or the hash chain was changed' }
    const reason = faultOf(row, log, runOf(runs, position))
    if (reason !== null) return { ok: false, events, position, reason }
    hash = expected
  }
  // The cursor of what was published never runs ahead of the log: rows after the last one are gone.
  const published = Number(log.meta('published') ?? 0)
  if (published > last)
    return { ok: false, events: last, position: last + 1, reason: 'the event is missing at the end' }
  return { ok: true, events: last, hash: hash.toString('hex') }
}

/** The row, or why there is none: its body may be in a segment that is missing or damaged. */
function rowOf(log: LogReader, position: number): LogRow | string {
  try {
    return log.row(position) ?? 'the event is missing'
  } catch (error) {
    return explain(error)
  }
}

function faultOf(row: LogRow, log: LogReader, run: string): string | null {
  try {
    const { envelope, key, stream } = checkEvent(row.body, run, log.blobs.get)
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

/** As a column gives it back: half of a character that takes two (a text was cut there) becomes U+FFFD. */
function stored<Value>(value: Value): Value | string {
  return typeof value === 'string' ? Buffer.from(value).toString() : value
}

type Stretch = { readonly run: string; readonly until: number }

/** Whose events stand where: the oldest ancestor's first. */
function runsOf(log: LogReader): readonly Stretch[] {
  const stretches: Stretch[] = [{ run: log.run, until: Infinity }]
  for (let reader: LogReader | null = log; reader?.parent; reader = reader.parentLog) {
    const { run, position } = reader.parent
    stretches.unshift({ run, until: Math.min(position, stretches[0].until) })
  }
  return stretches
}

function runOf(stretches: readonly Stretch[], position: number): string {
  return (stretches.find(({ until }) => position <= until) ?? stretches[stretches.length - 1]).run
}
