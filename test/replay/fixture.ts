/** The committed run: two iterations on generated household tasks with tiny models, everything real. */
import { copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { gunzipSync } from 'node:zlib'
import { type RunFolder, runFolder } from '../../src/broker/connection.ts'
import { CATALOGUE, type EventType, type LoggedEvent } from '../../src/events/catalogue.ts'
import { encodeEnvelope } from '../../src/events/codec.ts'
import { openLog } from '../../src/events/log.ts'
import { openLogReader } from '../../src/events/log-reader.ts'
import { pack } from '../../src/events/msgpack.ts'

export const FIXTURE = fileURLToPath(new URL('../fixtures/run/', import.meta.url))

/** Committed runs. `run` is of household tasks. scripts/fixture-runs.ts makes the others, with the columns that rules read. */
export type FixtureName = 'run' | 'run-coding' | 'run-web'

/** Unpacks a committed run under its own name into a folder of runs. */
export function unpackFixture(root: string, name: FixtureName = 'run'): RunFolder {
  const folder = runFolder(name, root)
  mkdirSync(folder.folder, { recursive: true })
  const source = fileURLToPath(new URL(`../fixtures/${name}/`, import.meta.url))
  writeFileSync(folder.log, gunzipSync(readFileSync(`${source}events.db.gz`)))
  if (existsSync(`${source}replay.json`)) copyFileSync(`${source}replay.json`, `${folder.folder}/replay.json`)
  return folder
}

export type CopyOptions = {
  readonly change?: (event: LoggedEvent) => LoggedEvent
  /** Types whose data rests in blobs, as large data does. */
  readonly inBlobs?: readonly EventType[]
}

/** A run written again under another name. */
export function copyRun(
  source: RunFolder,
  target: RunFolder,
  { change = (event) => event, inBlobs = [] }: CopyOptions,
): RunFolder {
  const { run } = target
  const from = openLogReader(source.log)
  const to = openLog(target.log, { run, minFreeBytes: 0, synchronous: 'NORMAL' })
  for (const event of from.events()) {
    const { id, type, actor, time, cause, data } = change(event)
    const { v } = CATALOGUE[type]
    const kept = inBlobs.includes(type) ? { $blob: to.blobs.put(pack(data)) } : data
    to.append([to.check(encodeEnvelope({ id, type, v, run, actor, time, cause, data: kept }))])
  }
  to.close()
  from.close()
  return target
}
