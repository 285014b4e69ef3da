/** Records which files of the head's host a run rests on, for roles on other hosts. */
import { basename, dirname } from 'node:path'
import type { Config } from '../../config.ts'
import { innerPath } from '../../events/catalogue/definition.ts'
import type { EventData, NewEvent } from '../../events/catalogue.ts'
import type { EventLog } from '../../events/log.ts'
import { fits } from '../../safe-parse.ts'
import { type SharedFile, shareFiles } from '../learner/shared-files.ts'
import { DATA, filesBelow, type OwnFile, ownFiles } from '../own-files.ts'

/** Most bytes and files of tasks that go through the log. Larger ones are copied by the user. */
const SHARED_BYTES = 16 * 1024 * 1024
const SHARED_FILES = 256

type Recorded = EventData<'OwnFilesRecorded'>['files'][number]

/** Resolves to the events that tell of the files of a config: one, or none if the config names no file. */
export async function filesRecorded(config: Config, log: Pick<EventLog, 'blobs'>): Promise<NewEvent[]> {
  const files: Recorded[] = []
  for await (const { key, path, sha256, bytes } of ownFiles(config)) {
    const shared = key === DATA ? await sharedOf(path, bytes, log) : null
    files.push({ key, sha256, bytes, ...(shared === null ? {} : { shared }) })
  }
  return files.length === 0 ? [] : [{ type: 'OwnFilesRecorded', data: { files } }]
}

/** Puts small tasks into the log. Code is never taken from there: see docs/decisions/1025. */
async function sharedOf(
  path: OwnFile['path'],
  bytes: number,
  { blobs }: Pick<EventLog, 'blobs'>,
): Promise<SharedFile[] | null> {
  if (bytes > SHARED_BYTES) return null
  const below = await filesBelow(path)
  const [folder, names] = below === null ? [dirname(path), [basename(path)]] : [path, below]
  const fit = names.length > 0 && names.length <= SHARED_FILES
  if (!fit || !names.every((name) => fits(innerPath, name))) return null
  return shareFiles({ putBlob: async (part) => blobs.put(part) }, folder, names)
}
