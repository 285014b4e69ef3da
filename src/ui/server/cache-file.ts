/** Databases of the cache. What they hold follows from a log, so a damaged one is thrown away and begun anew. */
import { rmSync } from 'node:fs'
import Database from 'better-sqlite3'

/** Whether an error of SQLite says that a file is no database or is damaged. */
export function saysDamage(error: unknown): boolean {
  return error instanceof Database.SqliteError && /^SQLITE_(CORRUPT|NOTADB)/.test(error.code)
}

/** Opens a database of the cache, and does what is done first. One that turns out to be damaged is begun anew. */
export function openCacheFile<T>(path: string, begin: (db: Database.Database) => T): T {
  try {
    return begun(path, begin)
  } catch (error) {
    if (!saysDamage(error)) throw error
    removeCacheFile(path)
    return begun(path, begin)
  }
}

export function removeCacheFile(path: string): void {
  for (const end of ['', '-wal', '-shm']) rmSync(`${path}${end}`, { force: true })
}

function begun<T>(path: string, begin: (db: Database.Database) => T): T {
  const db = new Database(path, { timeout: 5_000 })
  try {
    return begin(db)
  } catch (error) {
    db.close()
    throw error
  }
}
