/** Code, UT, Detect and best of N of a log without its projections' file. */
import Database from 'better-sqlite3'
import type { LogReader } from '../events/log-reader.ts'
import { catchUp, openProjections } from './projection.ts'
import { unitTests } from './unit-tests.ts'
import { type UnitTestRow, unitTestRows } from './views.ts'

/** Returns the rows of training and of evaluations, by iteration. Candidates are left out. */
export function unitTestsOfLog(log: LogReader): UnitTestRow[] {
  const db = new Database(':memory:')
  try {
    catchUp(openProjections(db, [unitTests]), log)
    return unitTestRows(db).filter(({ purpose }) => purpose !== 'candidate')
  } finally {
    db.close()
  }
}
