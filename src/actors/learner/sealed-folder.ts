/** Folders of weights, checked against the digest that an event tells. */
import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { RlError } from '../../errors.ts'
import { folderDigest } from '../../models/local/checkpoint.ts'
import { type Checkpoint, checkpointFolder } from './checkpoints.ts'

/**
 * Returns a function that tells the folder of an event's weights, or throws `model.corrupt`. The check is made once,
 * before a server's time begins. A folder that is only on the servers' machines, or whose files nothing here reads,
 * is theirs to check.
 */
export type SealedFolder = (run: string, checkpoint: Checkpoint) => Promise<() => string>

/** Each folder is read once. */
export function sealedFolders(): SealedFolder {
  const digests = new Map<string, string | null>()
  return async function sealedFolder(run, checkpoint) {
    const folder = resolve(checkpointFolder(run, checkpoint))
    if (!digests.has(folder) && existsSync(folder))
      digests.set(folder, await folderDigest(folder).catch(() => null))
    const found = digests.get(folder) ?? null
    return function place() {
      if (found === null || found === checkpoint.sha256) return folder
      throw new RlError(`the weights in ${folder} are not those of the event`, { code: 'model.corrupt' })
    }
  }
}
