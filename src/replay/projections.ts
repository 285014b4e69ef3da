/** Projections folded anew beside those that the run keeps. */
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import type { LoggedEvent } from '../events/catalogue.ts'
import type { LogReader } from '../events/log-reader.ts'
import { openKept } from '../projections/kept.ts'
import type { Projection } from '../projections/projection.ts'

export type Digests = Readonly<Record<string, string>>

export type Rebuild = {
  readonly apply: (events: readonly LoggedEvent[]) => void
  readonly digests: () => Digests
  readonly close: () => void
}

/** All projections in memory, from the first event on. */
export function openRebuild(users: readonly Projection[] = []): Rebuild {
  const db = new Database(':memory:')
  const projections = openKept(db, users)
  return {
    apply: projections.apply,
    digests: projections.digests,
    close: () => db.close(),
  }
}

/**
 * Digests of the projections that a run keeps in its file, brought up to the end of the log on a copy: the file itself is
 * not touched. Null where the run keeps none.
 */
export function keptDigests(file: string, log: LogReader, users: readonly Projection[] = []): Digests | null {
  if (!existsSync(file)) return null
  const folder = mkdtempSync(join(tmpdir(), 'rl-replay-'))
  try {
    const copy = join(folder, 'projections.db')
    const kept = new Database(file, { readonly: true, timeout: 5000 })
    kept.prepare('VACUUM INTO ?').run(copy)
    kept.close()
    const db = new Database(copy)
    const projections = openKept(db, users)
    projections.catchUp(log)
    const digests = projections.digests()
    db.close()
    return digests
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
