/** Checkpoints of a run: one Hugging Face folder a version, and which of them holds a version's weights. */

import { randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { cp, rename, rm } from 'node:fs/promises'
import { isAbsolute, join, relative } from 'node:path'
import { runFolder } from '../../broker/connection.ts'
import { RlError } from '../../errors.ts'
import type { EventData, NewEvent } from '../../events/catalogue.ts'
import { collectedError, collectedOf } from '../../events/collected.ts'
import type { LogClient } from '../../events/log-client.ts'
import { weightsDigest } from '../../models/local/checkpoint.ts'
import { checkFileDigests } from '../../models/local/file-digests.ts'
import { readModelFolder } from '../../models/local/model-folder.ts'
import type { TrainableModel } from '../../models/port.ts'
import { syncFolder } from '../../platform/files.ts'
import { readEvents } from '../rollout/log-queries.ts'
import { fetchFolder, shareFolder } from './shared-files.ts'
import { inStore, storeOf } from './store.ts'

export type ModelRole = 'policy' | 'reward-model'
export type Checkpoint = NonNullable<EventData<'PolicyUpdated'>['checkpoint']>

export const MODEL_ROLES = ['policy', 'reward-model'] as const satisfies readonly ModelRole[]

export const UPDATED = { policy: 'PolicyUpdated', 'reward-model': 'RewardModelUpdated' } as const

/** Returns the path of a version within its run's folder. */
export function checkpointPath(role: ModelRole, version: number): string {
  return `checkpoints/${role}/${String(version).padStart(5, '0')}`
}

/**
 * Returns whether a path is that of a version, with or without the first letters of a digest. An event may name any path of its
 * run's folder, also one of the log or of another role: nothing else may be deleted, or given away, as a version.
 */
export function isVersionPath(role: ModelRole, version: number, path: string): boolean {
  const plain = checkpointPath(role, version)
  return (
    path === plain || (path.startsWith(`${plain}-`) && /^[0-9a-f]{4,64}$/.test(path.slice(plain.length + 1)))
  )
}

/** Deletes the folder of a version. Errors: those of the file system. */
async function removeVersion(run: string, role: ModelRole, data: Holder['data']): Promise<void> {
  if (data.checkpoint === null || !isVersionPath(role, data.version, data.checkpoint.path)) return
  await rm(checkpointFolder(run, data.checkpoint), { recursive: true, force: true })
}

/**
 * Returns the folder of a checkpoint. Errors: `model.bad-path` if the path leads out of the run's folder: events of
 * older versions could name any path.
 */
export function checkpointFolder(run: string, { path }: Pick<Checkpoint, 'path'>): string {
  const { folder } = runFolder(run)
  const inner = join(folder, path)
  if (isAbsolute(path) || relative(folder, inner).split(/[\\/]/)[0] === '..')
    throw new RlError(`the checkpoint ${JSON.stringify(path)} lies outside of run '${run}'`, {
      code: 'model.bad-path',
      hint: 'look who appended it: rl log RUN show',
    })
  return inner
}

/** Writes the model's weights (and optimiser state) as a version of its role: on disk when this returns. */
export async function saveCheckpoint(
  model: TrainableModel,
  run: string,
  role: ModelRole,
  version: number,
): Promise<Checkpoint> {
  const path = checkpointPath(role, version)
  const folder = checkpointFolder(run, { path })
  const sha256 = await model.save(folder)
  syncFolder(folder)
  return { path, sha256 }
}

/**
 * Saves a version in a folder that is named by its digest. If two trainers make one version, each has its own folder,
 * and the log says whose holds.
 */
export async function saveApart(
  model: TrainableModel,
  run: string,
  role: ModelRole,
  version: number,
): Promise<Checkpoint> {
  const plain = checkpointPath(role, version)
  const temporary = checkpointFolder(run, { path: `${plain}.${randomUUID().slice(0, 8)}` })
  try {
    const sha256 = await model.save(temporary)
    const path = `${plain}-${sha256.slice(0, 8)}`
    const folder = checkpointFolder(run, { path })
    await rename(temporary, folder).catch((error: unknown) => {
      // Another trainer has made the same.
      if (!existsSync(folder)) throw error
    })
    syncFolder(folder)
    return { path, sha256 }
  } finally {
    await rm(temporary, { recursive: true, force: true })
  }
}

/** Copies a finished model folder as a version of a role. */
export async function adoptFolder(
  folder: string,
  run: string,
  role: ModelRole,
  version: number,
): Promise<Checkpoint> {
  const path = checkpointPath(role, version)
  const own = checkpointFolder(run, { path })
  // Caches of models are made of links, but a run owns the files that it goes on from.
  await cp(folder, own, { recursive: true, dereference: true })
  syncFolder(own)
  return { path, sha256: await weightsDigest(await readModelFolder(own)) }
}

/**
 * Returns the folder with the weights of a version. If its weights did not change, that is the folder of an earlier
 * version. A version from before a fork lies with the run that made it. Errors: `model.corrupt` if the weights are not
 * those of the event.
 */
export async function checkpointOf(
  log: LogClient,
  role: ModelRole,
  version: number,
): Promise<{ readonly folder: string; readonly sha256: string }> {
  const { events } = await readEvents(log, 1, [UPDATED[role]])
  const found = events.filter(({ data }) => data.version <= version && data.checkpoint !== null).at(-1)
  if (!found?.data.checkpoint)
    throw new RlError(`the log holds no checkpoint of ${role} version ${version}`, {
      code: 'model.no-checkpoint',
    })
  const { checkpoint } = found.data
  await fetchMissing(log, role, found)
  const folder = await checkedFolder(found.run, checkpoint, `${role} version ${found.data.version}`)
  return { folder, sha256: checkpoint.sha256 }
}

/**
 * Fetches the folder of a checkpoint that another host made.
 * @throws RlError `model.elsewhere` if that host did not share it
 */
export async function fetchMissing(
  log: LogClient,
  role: ModelRole,
  { run, data: { version, checkpoint } }: Holder,
): Promise<void> {
  if (checkpoint === null) return
  const folder = checkpointFolder(run, checkpoint)
  if (!existsSync(folder)) await fetchVersion(log, role, { run, data: { version, checkpoint } }, folder)
}

/**
 * Fetches the files of a version that another host made into a folder that is not there.
 * @throws RlError `model.elsewhere` if that host did not share it, `model.collected` if the run deleted it
 */
export async function fetchVersion(
  log: LogClient,
  role: ModelRole,
  { run, data: { version, checkpoint } }: Holder,
  folder: string,
): Promise<void> {
  if (run === log.run && (await collectedBy(log, role)).has(version)) throw collectedError(role, version)
  const { events } = await readEvents(log, 1, ['CheckpointShared'])
  const shared = events.findLast(
    ({ data }) => data.role === role && data.version === version && data.sha256 === checkpoint?.sha256,
  )
  if (shared === undefined)
    throw new RlError(`the weights of ${role} version ${version} are not on this disk: ${folder}`, {
      code: 'model.elsewhere',
      hint: `restore the folder from a copy of the run; if another host has it, start the head with --roles that leave out ${role}`,
    })
  const { files, store } = shared.data
  await inStore(log, store, (source) => fetchFolder(source, files, folder))
}

/** An event that names a checkpoint of its run. */
type Holder = {
  readonly run: string
  readonly data: { readonly version: number; readonly checkpoint: Checkpoint | null }
}

/**
 * Checks a checkpoint and returns its folder.
 *
 * @param name the version's name in error texts
 * @throws RlError `model.bad-path`
 * @throws RlError `model.corrupt` if its weights are not those of the event, or another file has changed since it was
 * written
 */
export async function checkedFolder(run: string, checkpoint: Checkpoint, name: string): Promise<string> {
  const folder = checkpointFolder(run, checkpoint)
  await checkFileDigests(folder)
  if ((await weightsDigest(await readModelFolder(folder))) !== checkpoint.sha256)
    throw new RlError(`the weights in ${folder} are not those of ${name}`, {
      code: 'model.corrupt',
      hint: 'restore the folder from a copy of the run',
    })
  return folder
}

/** The newest version that the log knows of a role, or null. */
export async function newestVersion(log: LogClient, role: ModelRole): Promise<number | null> {
  const { events } = await readEvents(log, 1, [UPDATED[role]])
  return events.at(-1)?.data.version ?? null
}

/**
 * Returns the folder with a version's weights. It may be a version 0 which this run has just made and has not told yet.
 */
export async function weightsFolder(log: LogClient, role: ModelRole, version: number): Promise<string> {
  const own = checkpointFolder(log.run, { path: checkpointPath(role, version) })
  const [told] = await log.positionsOf([`${UPDATED[role]}/${version}`])
  if (version === 0 && told === null && existsSync(own)) return own
  return (await checkpointOf(log, role, version)).folder
}

/** The two events that make a new version known: its files are complete, and it may be used. */
export function updatedEvents(role: ModelRole, data: EventData<'PolicyUpdated'>): NewEvent[] {
  const updated: NewEvent = { type: UPDATED[role], data }
  if (data.checkpoint === null) return [updated]
  const { sha256, path } = data.checkpoint
  return [{ type: 'CheckpointSealed', data: { role, version: data.version, sha256, path } }, updated]
}

/** As `updatedEvents`. If roles lie on other disks, the files are put into the log first, and an event tells of them. */
export async function sharedVersion(
  log: LogClient,
  role: ModelRole,
  data: EventData<'PolicyUpdated'>,
): Promise<NewEvent[]> {
  const events = updatedEvents(role, data)
  const { version, checkpoint } = data
  if (checkpoint === null || !log.apart) return events
  await removeCollected(log, role)
  const store = await storeOf(log)
  const folder = checkpointFolder(log.run, checkpoint)
  const files = await inStore(log, store, (target) => shareFolder(target, folder))
  const where = store === undefined ? {} : { store }
  const { sha256 } = checkpoint
  return [{ type: 'CheckpointShared', data: { role, version, sha256, files, ...where } }, ...events]
}

async function collectedBy(log: LogClient, role: ModelRole): Promise<Set<number>> {
  return collectedOf((await readEvents(log, 1, ['CheckpointsCollected'])).events, role)
}

/** Deletes this host's copies of versions that the head deleted (`run.keepVersions`). */
async function removeCollected(log: LogClient, role: ModelRole): Promise<void> {
  const gone = await collectedBy(log, role)
  if (gone.size === 0) return
  const made = await readEvents(log, 1, [UPDATED[role]])
  for (const { run, data } of made.events)
    if (run === log.run && gone.has(data.version)) await removeVersion(run, role, data)
}
