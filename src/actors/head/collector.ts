/**
 * Deletes the weights of old versions if a run keeps the newest alone (`run.keepVersions`). An event tells of them first, so
 * whoever asks later hears why they are gone. A head that ended between event and deletion goes on with it when it starts again.
 */
import { readdirSync, rmSync, statSync } from 'node:fs'
import { basename, dirname } from 'node:path'
import { type RunFolder, runFolder } from '../../broker/connection.ts'
import type { LoggedEvent, NewEvent } from '../../events/catalogue.ts'
import { collectedIn } from '../../events/collected.ts'
import type { EventLog } from '../../events/log.ts'
import { type LogReader, openLogReader } from '../../events/log-reader.ts'
import {
  checkpointFolder,
  isVersionPath,
  MODEL_ROLES,
  type ModelRole,
  UPDATED,
} from '../learner/checkpoints.ts'

type Updated = LoggedEvent<'PolicyUpdated' | 'RewardModelUpdated'>

export type CollectorOptions = {
  readonly folder: RunFolder
  readonly log: EventLog
  /** Number of newest versions of each role that stay. All do if it is absent. */
  readonly keep: number | undefined
  readonly append: (events: readonly NewEvent[]) => void
}

/** Returns a function that deletes what nobody can ask for any more. Called after an iteration, and at the head's start. */
export function openCollector({ folder, log, keep, append }: CollectorOptions): () => void {
  if (keep === undefined) return () => {}
  /** Position at which each other log of this disk leaves this one. Null: it is no fork. A log is read once. */
  let forks = new Map<string, number | null>()

  function forkPositions(): readonly number[] {
    const now = new Map<string, number | null>()
    for (const run of readdirSync(dirname(folder.folder))) {
      const file = run === folder.run ? null : fileOf(run)
      const position = file === null ? undefined : forks.has(file) ? forks.get(file) : forkOf(run, folder)
      // A log that cannot be read may be one that is just made.
      if (file !== null && position !== undefined) now.set(file, position)
    }
    forks = now
    return [...now.values()].filter((position) => position !== null)
  }

  return () => {
    const at = [log.head().position, ...forkPositions()]
    for (const role of MODEL_ROLES) {
      const made = [...log.events({ types: [UPDATED[role]] })].filter(({ data }) => data.checkpoint !== null)
      const own = made.filter(({ run, data }) => run === folder.run && isOwn(role, data))
      const needed = new Set(at.flatMap((position) => neededAt(made, position, keep)))
      const gone = collectedIn(log, role)
      const versions = own.map(({ data }) => data.version).filter((one) => !needed.has(one) && !gone.has(one))
      if (versions.length > 0) append([{ type: 'CheckpointsCollected', data: { role, versions } }])
      for (const version of versions) gone.add(version)
      for (const { run, data } of own)
        if (gone.has(data.version) && data.checkpoint !== null)
          rmSync(checkpointFolder(run, data.checkpoint), { recursive: true, force: true })
    }
    removeParts(log)
  }
}

/** Whether the weights lie in a folder of their version. Whoever named another place keeps it. */
function isOwn(role: ModelRole, { version, checkpoint }: Updated['data']): boolean {
  return checkpoint !== null && isVersionPath(role, version, checkpoint.path)
}

/** Versions that a run may ask for which goes on from a position. The first one is what the KL is taken against. */
function neededAt(made: readonly Updated[], position: number, keep: number): readonly number[] {
  const before = made.filter((event) => event.position <= position).map(({ data }) => data.version)
  return [...before.slice(0, 1), ...before.slice(-keep)]
}

/** Removes the parts of collected versions that no other file has. */
function removeParts(log: EventLog): void {
  const gone = new Map(MODEL_ROLES.map((role) => [role, collectedIn(log, role)]))
  const kept = new Set<string>()
  const old = new Set<string>()
  for (const { type, data } of log.events({ types: ['CheckpointShared', 'OwnFilesRecorded'] })) {
    const isGone = type === 'CheckpointShared' && gone.get(data.role)?.has(data.version)
    const files = type === 'CheckpointShared' ? data.files : data.files.flatMap(({ shared = [] }) => shared)
    for (const { sha256 } of files.flatMap(({ parts }) => parts)) (isGone ? old : kept).add(sha256)
  }
  for (const sha256 of old) if (!kept.has(sha256)) log.blobs.remove(sha256)
}

/** Names the file of a run's log: another run may have the same name later. Returns null if there is none. */
function fileOf(run: string): string | null {
  try {
    const { ino, birthtimeMs } = statSync(runFolder(run).log)
    return `${run}/${ino}/${birthtimeMs}`
  } catch {
    return null
  }
}

/**
 * Returns how much of this run's log another run goes on from, also through forks between them. Returns null if it is no fork of this
 * run, and undefined if its log cannot be read.
 */
function forkOf(run: string, parent: RunFolder): number | null | undefined {
  try {
    const log = openLogReader(runFolder(basename(run)).log)
    try {
      return sharedWith(log, parent.run)
    } finally {
      log.close()
    }
  } catch {
    return undefined
  }
}

function sharedWith({ parent, parentLog }: LogReader, run: string): number | null {
  if (parent === null) return null
  if (parent.run === run) return parent.position
  const above = parentLog === null ? null : sharedWith(parentLog, run)
  return above === null ? null : Math.min(above, parent.position)
}
