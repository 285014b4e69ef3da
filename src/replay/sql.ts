/** One statement of SQL over a run. It is asked of a copy that is opened for reading alone. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { explain, RlError } from '../errors.ts'
import type { LogReader } from '../events/log-reader.ts'
import { fillTables, SQL_TABLES, tablesIn } from './sql-tables.ts'

export type SqlCell = string | number | bigint | Buffer | null

export type SqlAnswer = {
  readonly columns: readonly string[]
  /** Rows as they are found. */
  readonly rows: Iterable<readonly SqlCell[]>
  readonly close: () => void
}

/** Words that begin a statement that only reads, after blanks and comments. */
const READING = /^(?:\s|--[^\n]*\n|\/\*(?:(?!\*\/)[\s\S])*\*\/)*(?:select|with|values|explain)\b/i

/**
 * Returns the answer to one statement. The caller closes it.
 *
 * @throws RlError `sql.statement` if it does not only read, or SQLite refuses it
 */
export function askRun(log: LogReader, statement: string): SqlAnswer {
  if (!READING.test(statement))
    throw refused('the statement does not begin with select, with, values or explain')
  const folder = mkdtempSync(join(tmpdir(), 'rl-sql-'))
  const path = join(folder, 'run.db')
  const remove = () => rmSync(folder, { recursive: true, force: true, maxRetries: 3 })
  let db: Database.Database | undefined
  try {
    write(path, log, statement)
    db = new Database(path, { readonly: true })
    // The system keeps the file for who has it open. So nothing is left even if this process is killed.
    if (process.platform !== 'win32') remove()
    db.pragma('trusted_schema = off')
    return answerOf(db, statement, remove)
  } catch (error) {
    db?.close()
    remove()
    throw error instanceof RlError ? error : refused(explain(error), error)
  }
}

function write(path: string, log: LogReader, statement: string): void {
  const db = new Database(path)
  try {
    db.pragma('journal_mode = off')
    db.pragma('synchronous = off')
    fillTables(db, log, tablesIn(statement))
  } finally {
    db.close()
  }
}

function answerOf(db: Database.Database, statement: string, remove: () => void): SqlAnswer {
  const prepared = db.prepare<[], SqlCell[]>(statement)
  if (!prepared.reader || !prepared.readonly) throw refused('the statement does not only read')
  const columns = prepared.columns().map(({ name }) => name)
  prepared.raw(true)
  return {
    columns,
    rows: rowsOf(prepared),
    close() {
      db.close()
      remove()
    },
  }
}

/** Faults while rows are found, e.g. of a function, are of the statement too. */
function* rowsOf(prepared: Database.Statement<[], SqlCell[]>): Generator<readonly SqlCell[]> {
  try {
    yield* prepared.iterate()
  } catch (error) {
    throw refused(explain(error), error)
  }
}

function refused(message: string, cause?: unknown): RlError {
  return new RlError(message, {
    code: 'sql.statement',
    hint: `one statement over ${Object.keys(SQL_TABLES).join(', ')}; rl sql --help lists their columns`,
    cause,
  })
}
