/**
 * The mark beside a log. It holds the last position, and whether the last writer closed the log. A log that nobody closed is checked
 * before anything is appended. If it ends before its mark, it has lost a file. The mark may be removed at any time.
 */
import { closeSync, openSync, readFileSync, statSync, writeSync } from 'node:fs'
import { z } from 'zod'

const markSchema = z.object({
  /** Last position that was appended. */
  position: z.int().nonnegative(),
  /** The file of the log as its last writer left it. Null while a writer is at work. */
  closed: z.object({ bytes: z.number(), mtimeMs: z.number() }).nullable(),
})
export type Mark = z.infer<typeof markSchema>

/** All marks have this length: a mark is overwritten in place, so that it fits on a full disk. */
const MARK_BYTES = 160

export type MarkWriter = {
  /** Notes that the log holds everything up to this position. */
  readonly note: (position: number) => void
  /** Notes that the log was closed. */
  readonly close: (position: number) => void
}

export function markPath(log: string): string {
  return `${log}-mark`
}

/** Reads the mark of a log. Returns null if there is none, or if it cannot be read. */
export function readMark(log: string): Mark | null {
  try {
    return markSchema.parse(JSON.parse(readFileSync(markPath(log), 'utf8')))
  } catch {
    return null
  }
}

/** Returns whether the log is as its last writer closed it. */
export function wasClosed(log: string, position: number): boolean {
  const mark = readMark(log)
  const wal = statSync(`${log}-wal`, { throwIfNoEntry: false })?.size ?? 0
  if (!mark?.closed || mark.position !== position || wal > 0) return false
  const { size, mtimeMs } = statSync(log)
  return mark.closed.bytes === size && mark.closed.mtimeMs === mtimeMs
}

/** Opens the mark for writing. If a write fails there is no mark: only the log itself counts. */
export function openMark(log: string): MarkWriter {
  let file: number | null = null
  let last = -1

  function write(mark: Mark): void {
    try {
      file ??= openSync(markPath(log), 'w', 0o600)
      writeSync(file, `${JSON.stringify(mark).padEnd(MARK_BYTES - 1)}\n`, 0)
    } catch {
      // The disk takes nothing.
    }
  }

  return {
    note(position) {
      if (position === last) return
      last = position
      write({ position, closed: null })
    },
    close(position) {
      const found = statSync(log, { throwIfNoEntry: false })
      if (found && last >= 0) write({ position, closed: { bytes: found.size, mtimeMs: found.mtimeMs } })
      if (file !== null) closeSync(file)
      file = null
    },
  }
}
