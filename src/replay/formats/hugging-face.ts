/** Trajectories as a dataset of Hugging Face: a folder with Parquet shards by split, and a card. */
import { existsSync, mkdirSync, readdirSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { RlError } from '../../errors.ts'
import type { LogReader } from '../../events/log-reader.ts'
import { trajectoryRows } from '../export.ts'
import { type Exporter, originOf } from '../exporter.ts'
import { openParquet, type ParquetFile } from '../parquet.ts'
import type { TrajectoryRow } from '../trajectory-row.ts'
import { type CardSplit, datasetCard } from './dataset-card.ts'

/** Rows of a shard. */
const SHARD = 5_000

export const huggingFace: Exporter = {
  name: 'huggingface',
  summary:
    'a new folder with Parquet shards by split and a dataset card, for datasets.load_dataset and the hub',
  async write(log, out) {
    const splits = await writeDataset(log, out, SHARD)
    const rows = splits.reduce((sum, one) => sum + one.rows, 0)
    return `${rows} trajectories in ${splits.length} splits of ${out}`
  },
}

/**
 * Writes the shards and the card.
 *
 * @param most most rows of a shard
 * @throws RlError `export.place` if the folder has files: old shards would be read as rows of this run
 */
export async function writeDataset(log: LogReader, out: string, most: number): Promise<readonly CardSplit[]> {
  if (existsSync(out) && readdirSync(out).length > 0)
    throw new RlError(`the folder ${out} has files`, {
      code: 'export.place',
      hint: 'name a new folder with -o: old shards would be read as part of this run',
    })
  const data = join(out, 'data')
  mkdirSync(data, { recursive: true })
  const origin = originOf(log)
  const splits = new Map<string, Shards>()
  const shardsOf = (split: string) => {
    const known = splits.get(split) ?? openShards(data, split, origin, most)
    splits.set(split, known)
    return known
  }
  for (const row of trajectoryRows(log)) await shardsOf(splitName(row.split)).add(row)
  if (splits.size === 0) shardsOf('train')
  const ended: CardSplit[] = []
  for (const [name, shards] of splits) ended.push({ name, rows: await shards.end() })
  writeFileSync(join(out, 'README.md'), datasetCard(origin, ended))
  return ended
}

/** Names of splits have letters, digits and low lines alone. */
const splitName = (split: string): string => split.replace(/\W/g, '_')

type Shards = {
  readonly add: (row: TrajectoryRow) => Promise<void>
  /** Ends the last shard and names all of them. Resolves to the number of rows. */
  readonly end: () => Promise<number>
}

function openShards(
  folder: string,
  split: string,
  origin: Readonly<Record<string, string>>,
  most: number,
): Shards {
  const paths: string[] = []
  const next = (): ParquetFile => {
    const path = join(folder, `${split}-${paths.length}.part`)
    paths.push(path)
    return openParquet(path, origin)
  }
  let shard = next()
  let rows = 0
  return {
    async add(row) {
      if (rows > 0 && rows % most === 0) {
        await shard.end()
        shard = next()
      }
      rows++
      await shard.add(row)
    },
    async end() {
      await shard.end()
      for (const [i, path] of paths.entries())
        renameSync(path, join(folder, `${split}-${fiveDigits(i)}-of-${fiveDigits(paths.length)}.parquet`))
      return rows
    },
  }
}

const fiveDigits = (value: number): string => String(value).padStart(5, '0')
