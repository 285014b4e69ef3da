/**
 * The mark beside a log: how far it went, and whether its last writer closed it. A log that nobody closed is looked at before
 * anything is appended; one that ends before its mark has lost a file. The mark may be removed at any time.
 */
import { closeSync, openSync, readFileSync, statSync, writeSync } from 'node:fs'
import { z } from 'zod'

const markSchema = z.object({
  /** Last position that was appended. */
  position: z.int().nonnegative(),
  /** The file of the log as its last writer left it; null as long as a writer is at work. */
  closed: z.object({ bytes: z.number(), mtimeMs: z.number() }).nullable(),
})
export type Mark = z.infer<typeof markSchema>

/** A mark is written over in place, so that it fits on a full disk: all are of one length. */
const MARK_BYTES = 160

export type MarkWriter = {
  /** Everything up to here is in the log. */
  readonly note: (position: number) => void
  /** The log was closed. */
  readonly close: (position: number) => void
}

export function markPath(log: string): string {
  return `${log}-mark`
}

/** Returns null if there is none, or none that can be read. */
export function readMark(log: string): Mark | null {
  try {
    return markSchema.parse(JSON.parse(readFileSync(markPath(log), 'utf8')))
  } catch {
    return null
  }
}

/** Whether the log is as its last writer closed it. */
export function wasClosed(log: string, position: number): boolean {
  const mark = readMark(log)
  const wal = statSync(`${log}-wal`, { throwIfNoEntry: false })?.size ?? 0
  if (!mark?.closed || mark.position !== position || wal > 0) return false
  const { size, mtimeMs } = statSync(log)
  return mark.closed.bytes === size && mark.closed.mtimeMs === mtimeMs
}

/** A mark that cannot be written is none: the log itself is what counts. */
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
