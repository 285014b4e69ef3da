/** A format of a run, and the writing of its lines. */
import { once } from 'node:events'
import { createWriteStream } from 'node:fs'
import type { LogReader } from '../events/log-reader.ts'
import { startsOf } from '../events/starts.ts'

export type Exporter = {
  /** Name for `--format`. */
  readonly name: string
  /** A line for `rl export --help`. */
  readonly summary: string
  /** Writes the log to a path in this format. Resolves to a line about the written files. */
  readonly write: (log: LogReader, out: string) => Promise<string>
}

/** Words about a run for a file's metadata, by Parquet's custom of prefixes. */
export function originOf(log: LogReader): Readonly<Record<string, string>> {
  const { configDigest, codeVersion } = startsOf(log).last.data
  return {
    'rlanything.run': log.run,
    'rlanything.config_digest': configDigest,
    'rlanything.code_version': codeVersion,
  }
}

/** Writes each row as a line of JSON. Resolves to the number of rows. */
export function writeLines(path: string, rows: Iterable<object>): Promise<number> {
  return writePieces(path, linesOf(rows))
}

function* linesOf(rows: Iterable<object>): Generator<string> {
  for (const row of rows) yield `${JSON.stringify(row)}\n`
}

/** Writes the pieces. Resolves to their number. */
export async function writePieces(path: string, pieces: Iterable<string>): Promise<number> {
  const out = createWriteStream(path)
  let count = 0
  for (const piece of pieces) {
    count++
    if (!out.write(piece)) await once(out, 'drain')
  }
  out.end()
  await once(out, 'close')
  return count
}
