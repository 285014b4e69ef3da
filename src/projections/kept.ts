/** All projections of a run in its file: ours and a user's. A user's projection may fail without harm to the others. */
import type { Database } from 'better-sqlite3'
import { explain } from '../errors.ts'
import type { LoggedEvent } from '../events/catalogue.ts'
import type { LogReader } from '../events/log-reader.ts'
import { PROJECTIONS } from './all.ts'
import { catchUp, openProjections, type Projection, type Projections } from './projection.ts'

export type KeptProjections = {
  /** Folds events in order of their positions. */
  readonly apply: (events: readonly LoggedEvent[]) => void
  /** Brings all projections to the end of the log. Returns the number of events that ours folded. */
  readonly catchUp: (log: Pick<LogReader, 'events' | 'head'>) => number
  readonly position: () => number
  /** SHA-256 of each projection's rows in order of their keys, without failed projections. */
  readonly digests: () => Readonly<Record<string, string>>
  /** Why a user's projection has failed, by its name. It stays at its position. */
  readonly failed: ReadonlyMap<string, string>
}

export function openKept(db: Database, users: readonly Projection[] = []): KeptProjections {
  const ours = openProjections(db, PROJECTIONS)
  const failed = new Map<string, string>()
  const theirs = new Map<string, Projections>()
  for (const projection of users) guarded(projection.name, () => openProjections(db, [projection]))

  function guarded(name: string, work: (opened: Projections | undefined) => Projections): void {
    try {
      theirs.set(name, work(theirs.get(name)))
    } catch (error) {
      failed.set(name, explain(error))
      theirs.delete(name)
    }
  }

  function each(work: (projections: Projections) => void): void {
    for (const name of [...theirs.keys()])
      guarded(name, (opened) => {
        work(opened!)
        return opened!
      })
  }

  return {
    apply(events) {
      ours.apply(events)
      each((projections) => projections.apply(events))
    },
    catchUp(log) {
      const count = catchUp(ours, log)
      each((projections) => catchUp(projections, log))
      return count
    },
    position: ours.position,
    digests: () => Object.assign({}, ours.digests(), ...[...theirs.values()].map((one) => one.digests())),
    failed,
  }
}
