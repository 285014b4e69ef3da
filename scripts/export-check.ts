/**
 * Reads each export of the committed run by what others read with, and compares every value with what was written.
 *
 * npm run -s export:check    RL_EXPORT_PYTHON names a Python with pyarrow, pandas, polars, duckdb, datasets,
 *                            tensorboard, trackio and wandb
 *
 * A reader that is missing is named SKIP. The last line is formats=N readers=N differences=N
 */
import { spawnSync } from 'node:child_process'
import { appendFileSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type LogReader, openLogReader } from '../src/events/log-reader.ts'
import { trajectoryRows } from '../src/replay/export.ts'
import { EXPORTERS, lineRows } from '../src/replay/exporters.ts'
import type { TrajectoryRow } from '../src/replay/trajectory-row.ts'
import { unpackFixture } from '../test/replay/fixture.ts'

const PYTHON = process.env.RL_EXPORT_PYTHON ?? 'python3'
const PROGRAM = fileURLToPath(new URL('export-check/readers.py', import.meta.url))

const HALF_BYTES = 10_000_000

type Told =
  | { readonly missing: string; readonly why: string }
  | {
      readonly format: string
      readonly reader: string
      readonly rows: number
      readonly differences: number
      readonly first: string | null
    }

const root = mkdtempSync(join(tmpdir(), 'rl-export-check-'))
try {
  const folder = join(root, 'exports')
  mkdirSync(folder)
  const log = openLogReader(unpackFixture(root).log)
  for (const { name, write } of EXPORTERS) await write(log, join(folder, name))
  for (const row of lineRows(manyRows(log)))
    appendFileSync(join(folder, 'jsonl-large'), `${JSON.stringify(row)}\n`)
  log.close()
  const { status, stdout, stderr, error } = spawnSync(PYTHON, [PROGRAM, folder], {
    encoding: 'utf8',
    maxBuffer: 1 << 26,
  })
  if (status !== 0) process.stdout.write(`SKIP all readers: ${PYTHON}: ${error?.message ?? stderr.trim()}\n`)
  tell(stdout?.split('\n').flatMap((line): Told[] => (line.startsWith('{') ? [JSON.parse(line)] : [])) ?? [])
} finally {
  rmSync(root, { recursive: true, force: true })
}

/** A run whose log begins with 10 MB of evaluations, which have no judgements and advantages. */
function* manyRows(log: LogReader): Generator<TrajectoryRow> {
  const rows = [...trajectoryRows(log)]
  const isEvaluation = ({ purpose }: TrajectoryRow) => purpose === 'evaluation'
  for (const part of [rows.filter(isEvaluation), rows.filter((row) => !isEvaluation(row))])
    for (let size = 0; size < HALF_BYTES; size += JSON.stringify(part).length) yield* part
}

function tell(told: readonly Told[]): void {
  const formats = new Set<string>()
  const readers = new Set<string>()
  let differences = 0
  for (const one of told) {
    if ('missing' in one) {
      process.stdout.write(`SKIP ${one.missing}: ${one.why}\n`)
      continue
    }
    formats.add(one.format)
    readers.add(one.reader)
    differences += one.differences
    const more = one.first === null ? '' : `; ${one.first}`
    process.stdout.write(
      `${one.format} by ${one.reader}: ${one.rows} rows, ${one.differences} differences${more}\n`,
    )
  }
  process.stdout.write(`formats=${formats.size} readers=${readers.size} differences=${differences}\n`)
  process.exitCode = differences === 0 ? 0 : 1
}
