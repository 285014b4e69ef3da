/**
 * Notes of people on a run, kept beside its log in `notes.jsonl`. The file only grows, and is its owner's alone. The log
 * never holds a note.
 */
import { closeSync, constants, fstatSync, openSync, readSync, statSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import type { RunFolder } from '../../broker/connection.ts'
import { RlError } from '../../errors.ts'
import type { LogReader } from '../../events/log-reader.ts'
import { safeParse } from '../../safe-parse.ts'
import type { Note, NotesPage } from '../logic/notes-page.ts'
import type { OpenRun } from './open-runs.ts'

const FILE = 'notes.jsonl'
const MOST_TEXT_BYTES = 4_000
const MOST_NOTES = 10_000
const MOST_FILE_BYTES = 32 * 1024 * 1024
/** Notes of one answer, the newest. */
const SHOWN = 200

const line = z.object({
  time: z.number(),
  position: z.number().int().min(0),
  about: z.enum(['run', 'event']),
  text: z.string().max(MOST_TEXT_BYTES),
})

const asked = z.strictObject({
  text: z.string().max(2 * MOST_TEXT_BYTES),
  /** Position of the event. Null for the run as it stands. */
  position: z.number().int().min(1).nullable(),
})

type Kept = { readonly inode: number; readonly bytes: number; readonly notes: readonly Note[] }
const kept = new Map<string, Kept>()

/**
 * Returns the notes of a run, the oldest first. A line that is no note is passed over.
 * @throws RlError `ui.notes` if they cannot be read
 */
export function readNotes({ folder, run }: RunFolder): readonly Note[] {
  const path = join(folder, FILE)
  let file: number
  try {
    file = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  } catch (cause) {
    kept.delete(path)
    if (codeOf(cause) === 'ENOENT') return []
    throw unusable(run, 'read', cause)
  }
  try {
    const { size, ino, isFile } = stateOf(file)
    if (!isFile || size > MOST_FILE_BYTES) throw unusable(run, 'read', null)
    const known = kept.get(path)
    if (known?.inode === ino && known.bytes === size) return known.notes
    const before = known?.inode === ino && known.bytes < size ? known : { bytes: 0, notes: [] }
    const news = read(file, before.bytes, size)
    // A line that is being written is read by the next look.
    const end = news.lastIndexOf('\n') + 1
    const notes = [...before.notes, ...notesIn(news.subarray(0, end).toString('utf8'))].slice(0, MOST_NOTES)
    kept.set(path, { inode: ino, bytes: before.bytes + end, notes })
    if (kept.size > 8) for (const [oldest] of [...kept].slice(0, 1)) kept.delete(oldest)
    return notes
  } catch (cause) {
    if (cause instanceof RlError) throw cause
    throw unusable(run, 'read', cause)
  } finally {
    closeSync(file)
  }
}

function stateOf(file: number) {
  const state = fstatSync(file)
  return { size: state.size, ino: state.ino, isFile: state.isFile() }
}

function read(file: number, from: number, until: number): Buffer {
  const bytes = Buffer.alloc(until - from)
  let at = 0
  while (at < bytes.length) {
    const some = readSync(file, bytes, at, bytes.length - at, from + at)
    if (some === 0) break
    at += some
  }
  return bytes.subarray(0, at)
}

function notesIn(text: string): Note[] {
  return text.split('\n').flatMap((one) => {
    if (one === '') return []
    try {
      const parsed = safeParse(line, JSON.parse(one))
      return parsed.success ? [parsed.data] : []
    } catch {
      return []
    }
  })
}

/** Returns the newest notes up to a position, or those on one event. */
export function notesPage({ folder }: OpenRun, at: number, position: number | undefined): NotesPage {
  const all = readNotes(folder).filter((note) => note.position <= at)
  const found =
    position === undefined ? all : all.filter((note) => note.about === 'event' && note.position === position)
  return { total: found.length, notes: found.slice(-SHOWN).reverse() }
}

/**
 * Keeps a note.
 * @throws RlError `ui.bad-note`, `ui.notes`
 */
export function addNote({ folder, log }: OpenRun, input: unknown): Note {
  const parsed = safeParse(asked, input)
  if (!parsed.success) throw badNote(parsed.error.issues[0]?.message ?? 'it is no note')
  const text = parsed.data.text.replace(/\r\n?/g, '\n').trim()
  if (text === '') throw badNote('it is empty')
  const bytes = Buffer.byteLength(text)
  if (bytes > MOST_TEXT_BYTES) throw badNote(`it has ${bytes} bytes, more than ${MOST_TEXT_BYTES}`)
  const note: Note = { time: Date.now(), ...placeOf(log, parsed.data.position), text }
  if (readNotes(folder).length >= MOST_NOTES) throw badNote(`the run has ${MOST_NOTES} notes already`)
  append(folder, `${JSON.stringify(note)}\n`)
  return note
}

/** A note on the run stands at the end of its log, as it is now. */
function placeOf(log: LogReader, position: number | null): Pick<Note, 'position' | 'about'> {
  const end = log.head().position
  if (position === null) return { position: end, about: 'run' }
  if (position > end) throw badNote(`there is no event ${position}: the last one is ${end}`)
  return { position, about: 'event' }
}

function append({ folder, run }: RunFolder, text: string): void {
  const { uid } = statSync(folder)
  if (process.getuid !== undefined && uid !== process.getuid())
    throw new RlError(`the folder of run '${run}' belongs to somebody else`, {
      code: 'ui.notes',
      hint: 'copy the run to keep notes on it',
    })
  const { O_WRONLY, O_APPEND, O_CREAT, O_NOFOLLOW, O_NONBLOCK } = constants
  try {
    const file = openSync(join(folder, FILE), O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK, 0o600)
    try {
      const { size, isFile } = stateOf(file)
      if (!isFile || size + Buffer.byteLength(text) > MOST_FILE_BYTES) throw unusable(run, 'kept', null)
      writeSync(file, text)
    } finally {
      closeSync(file)
    }
  } catch (cause) {
    if (cause instanceof RlError) throw cause
    throw unusable(run, 'kept', cause)
  }
}

function badNote(what: string): RlError {
  return new RlError(`this note cannot be kept: ${what}`, {
    code: 'ui.bad-note',
    hint: `a note has at most ${MOST_TEXT_BYTES} bytes, and a run ${MOST_NOTES} notes`,
  })
}

const WHY: Readonly<Record<string, string>> = {
  EACCES: 'this user may not',
  EPERM: 'this user may not',
  EROFS: 'the folder can only be read',
  ENOSPC: 'the disk is full',
  ELOOP: `${FILE} is a link`,
  EISDIR: `${FILE} is a folder`,
}

function unusable(run: string, what: 'read' | 'kept', cause: unknown): RlError {
  const why = WHY[codeOf(cause)] ?? `${FILE} is no file of notes`
  return new RlError(`notes on run '${run}' cannot be ${what}: ${why}`, {
    code: 'ui.notes',
    hint: `look at ${FILE} in the folder of the run`,
    cause,
  })
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : ''
}
