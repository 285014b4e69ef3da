/** Trajectories as a Parquet file: lists are LIST columns, one row group a thousand rows. */
import { fileWriter, ParquetWriter } from 'hyparquet-writer'
import type { TrajectoryRow } from './export.ts'

type SchemaElement = ConstructorParameters<typeof ParquetWriter>[0]['schema'][number]
type Kind = 'text' | 'int' | 'double' | 'float' | 'flag'

/** Kind of each column, and whether it holds a list. */
const COLUMNS: { readonly [Name in keyof TrajectoryRow]: readonly [Kind, 'one' | 'list'] } = {
  position: ['int', 'one'],
  rollout: ['text', 'one'],
  iteration: ['int', 'one'],
  purpose: ['text', 'one'],
  split: ['text', 'one'],
  slot: ['text', 'one'],
  task: ['text', 'one'],
  index: ['int', 'one'],
  policy_version: ['int', 'one'],
  success: ['flag', 'one'],
  ended: ['text', 'one'],
  steps: ['int', 'one'],
  observations: ['text', 'list'],
  actions: ['text', 'list'],
  scores: ['double', 'list'],
  advantages: ['double', 'list'],
  tokens: ['int', 'list'],
  mask: ['int', 'list'],
  logprobs: ['float', 'list'],
}

const TYPES: Readonly<Record<Kind, Pick<SchemaElement, 'type' | 'converted_type'>>> = {
  text: { type: 'BYTE_ARRAY', converted_type: 'UTF8' },
  int: { type: 'INT32' },
  double: { type: 'DOUBLE' },
  float: { type: 'FLOAT' },
  flag: { type: 'BOOLEAN' },
}

const ROW_GROUP = 1_000

/** Writes all rows; returns how many. */
export function writeParquet(path: string, rows: Iterable<TrajectoryRow>): number {
  const writer = new ParquetWriter({ writer: fileWriter(path), schema: schema() })
  let group: TrajectoryRow[] = []
  let count = 0
  const flush = () => {
    const names = Object.keys(COLUMNS) as (keyof TrajectoryRow)[]
    writer.write({ columnData: names.map((name) => ({ name, data: group.map((row) => row[name]) })) })
    group = []
  }
  for (const row of rows) {
    group.push(row)
    count++
    if (group.length === ROW_GROUP) flush()
  }
  if (group.length > 0 || count === 0) flush()
  writer.finish()
  return count
}

function schema(): SchemaElement[] {
  const columns = Object.entries(COLUMNS).flatMap(([name, [kind, shape]]): SchemaElement[] =>
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
