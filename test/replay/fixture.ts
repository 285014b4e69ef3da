/** The committed run: two iterations on generated household tasks with tiny models, everything real. */
import { copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { gunzipSync } from 'node:zlib'
import { type RunFolder, runFolder } from '../../src/broker/connection.ts'

export const FIXTURE = fileURLToPath(new URL('../fixtures/run/', import.meta.url))

/** Unpacks it as run `run` of a folder of runs. */
export function unpackFixture(root: string): RunFolder {
  const folder = runFolder('run', root)
  mkdirSync(folder.folder, { recursive: true })
  writeFileSync(folder.log, gunzipSync(readFileSync(`${FIXTURE}events.db.gz`)))
  if (existsSync(`${FIXTURE}replay.json`))
    copyFileSync(`${FIXTURE}replay.json`, `${folder.folder}/replay.json`)
  return folder
}
