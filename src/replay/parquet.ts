/**
 * Trajectories as a Parquet file. Lists are LIST columns. A row group has a thousand rows. Columns of JSON are texts: Polars reads
 * Parquet's own type JSON as bytes.
 */
import { fileWriter, ParquetWriter } from 'hyparquet-writer'
import { COLUMNS, type Kind, type TrajectoryRow } from './trajectory-row.ts'

type SchemaElement = ConstructorParameters<typeof ParquetWriter>[0]['schema'][number]
const TYPES: Readonly<Record<Kind, Pick<SchemaElement, 'type' | 'converted_type'>>> = {
  text: { type: 'BYTE_ARRAY', converted_type: 'UTF8' },
  int: { type: 'INT32' },
  double: { type: 'DOUBLE' },
  float: { type: 'FLOAT' },
  flag: { type: 'BOOLEAN' },
  json: { type: 'BYTE_ARRAY', converted_type: 'UTF8' },
}

const ROW_GROUP = 1_000

export type ParquetFile = {
  readonly add: (row: TrajectoryRow) => Promise<void>
  /** Writes what is held, and the end of the file. */
  readonly end: () => Promise<void>
}

/**
 * Writes all rows. Resolves to their number.
 *
 * @param origin words about the run, for the file's own metadata
 */
export async function writeParquet(
  path: string,
  rows: Iterable<TrajectoryRow>,
  origin: Readonly<Record<string, string>> = {},
): Promise<number> {
  const file = openParquet(path, origin)
  let count = 0
  for (const row of rows) {
    await file.add(row)
    count++
  }
  await file.end()
  return count
}

/** Opens a new file for rows. A file without rows has the columns all the same. */
export function openParquet(path: string, origin: Readonly<Record<string, string>>): ParquetFile {
  const kvMetadata = Object.entries(origin).map(([key, value]) => ({ key, value }))
  const writer = new ParquetWriter({ writer: fileWriter(path), schema: schema(), kvMetadata })
  let group: TrajectoryRow[] = []
  let groups = 0
  const flush = async () => {
    const names = Object.keys(COLUMNS) as (keyof TrajectoryRow)[]
    await writer.write({
      columnData: names.map((name) => ({ name, data: group.map((row) => cellOf(name, row)) })),
    })
    group = []
    groups++
  }
  return {
    async add(row) {
      group.push(row)
      if (group.length === ROW_GROUP) await flush()
    },
    async end() {
      if (group.length > 0 || groups === 0) await flush()
      await writer.finish()
    },
  }
}

function cellOf(name: keyof TrajectoryRow, row: TrajectoryRow): unknown {
  const value = row[name]
  return value !== null && COLUMNS[name].kind === 'json' ? JSON.stringify(value) : value
}

function schema(): SchemaElement[] {
  const columns = Object.entries(COLUMNS).flatMap(([name, { kind, shape }]): SchemaElement[] =>
    shape === 'one'
      ? [{ name, ...TYPES[kind], repetition_type: 'OPTIONAL' }]
      : [
          { name, converted_type: 'LIST', repetition_type: 'OPTIONAL', num_children: 1 },
          { name: 'list', repetition_type: 'REPEATED', num_children: 1 },
          { name: 'element', ...TYPES[kind], repetition_type: 'REQUIRED' },
        ],
  )
  return [{ name: 'root', num_children: Object.keys(COLUMNS).length }, ...columns]
}
