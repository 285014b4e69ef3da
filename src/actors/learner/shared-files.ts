/**
 * Files of checkpoints, for roles on other hosts. They lie in the log as blobs, in parts, and an event lists them. A host
 * that lacks a checkpoint's folder makes it from them.
 */
import { createHash, randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, open, readdir, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { RlError } from '../../errors.ts'
import type { EventData } from '../../events/catalogue.ts'
import type { LogClient } from '../../events/log-client.ts'
import { syncFolder } from '../../platform/files.ts'

export type SharedFile = EventData<'CheckpointShared'>['files'][number]

/** Takes the parts. */
type Store = Pick<LogClient, 'putBlob'>

/** Gives the parts. */
type Source = Pick<LogClient, 'getBlob'>

/** Bytes of a part: what a process holds of a file at a time. */
const PART_BYTES = 32 * 1024 * 1024

/**
 * Puts the files of a folder into the log. Parts that the log has already are not sent again.
 * @throws those of the log, e.g. `event.oversized`
 * @example await log.append([{ type: 'CheckpointShared', data: { role, version, sha256, files: await shareFolder(log, folder) } }])
 */
export async function shareFolder(log: Store, folder: string): Promise<SharedFile[]> {
  const entries = await readdir(folder, { withFileTypes: true })
  const names = entries.filter((entry) => entry.isFile()).map(({ name }) => name)
  return shareFiles(log, folder, names.sort())
}

/** As `shareFolder`, for some files of a folder. */
export async function shareFiles(
  log: Store,
  folder: string,
  names: readonly string[],
): Promise<SharedFile[]> {
  const files: SharedFile[] = []
  for (const name of names) files.push(await shareFile(log, folder, name))
  return files
}

async function shareFile(log: Store, folder: string, name: string): Promise<SharedFile> {
  const file = await open(join(folder, name), 'r')
  const whole = createHash('sha256')
  const parts: SharedFile['parts'] = []
  try {
    for (;;) {
      const part = Buffer.allocUnsafe(Math.min(PART_BYTES, Math.max(1, (await file.stat()).size)))
      const { bytesRead } = await file.read(part, 0, part.byteLength)
      if (bytesRead === 0) break
      const bytes = part.subarray(0, bytesRead)
      whole.update(bytes)
      parts.push(await log.putBlob(bytes))
    }
  } finally {
    await file.close()
  }
  return { name, sha256: whole.digest('hex'), parts }
}

/**
 * Makes a folder of shared files: whole, or not at all. If another process of this host makes it meanwhile, its folder
 * stays.
 * @throws RlError `model.corrupt` if a file is not what the event tells
 */
export async function fetchFolder(log: Source, files: readonly SharedFile[], folder: string): Promise<void> {
  const partial = `${folder}.${randomUUID().slice(0, 8)}.part`
  await mkdir(dirname(folder), { recursive: true })
  await mkdir(partial)
  try {
    for (const file of files) await fetchFile(log, file, partial)
    syncFolder(partial)
    await rename(partial, folder).catch((error: unknown) => {
      if (!existsSync(folder)) throw error
    })
  } finally {
    await rm(partial, { recursive: true, force: true })
  }
}

async function fetchFile(log: Source, { name, sha256, parts }: SharedFile, folder: string): Promise<void> {
  await mkdir(dirname(join(folder, name)), { recursive: true })
  const file = await open(join(folder, name), 'wx', 0o600)
  const whole = createHash('sha256')
  try {
    for (const part of parts) {
      const bytes = await log.getBlob(part)
      whole.update(bytes)
      await file.writeFile(bytes)
    }
  } finally {
    await file.close()
  }
  if (whole.digest('hex') !== sha256)
    throw new RlError(`the shared file ${name} is not what its event tells`, {
      code: 'model.corrupt',
      hint: 'look who appended it: rl log RUN show',
    })
}
