/** Formats of a run for other tools: ours, and those of a user's module. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { RlError } from '../errors.ts'
import { refuseUnread } from '../registry.ts'
import { type CallLimit, type Check, callWithin, type UserCall } from '../user-code.ts'
import { flattened, loadUserModule } from '../user-module.ts'
import { metricRows, trajectoryRows } from './export.ts'
import { type Exporter, originOf, writeLines, writePieces } from './exporter.ts'
import { critiques, demonstrations } from './fine-tuning.ts'
import { huggingFace } from './formats/hugging-face.ts'
import { trackio } from './formats/trackio.ts'
import { trl } from './formats/trl.ts'
import { wandb } from './formats/wandb.ts'
import { otlpPieces } from './otlp.ts'
import { writeParquet } from './parquet.ts'
import { tensorboardFile } from './tensorboard.ts'
import type { TrajectoryRow } from './trajectory-row.ts'

export const EXPORTERS: readonly Exporter[] = [
  {
    name: 'jsonl',
    summary:
      'trajectories, one a line: tasks, texts, outcomes, votes, critiques, advantages, usage, tokens, masks, log-probs',
    write: async (log, out) =>
      `${await writeLines(out, lineRows(trajectoryRows(log)))} trajectories in ${out}`,
  },
  {
    name: 'parquet',
    summary: 'the same as a Parquet file',
    write: async (log, out) =>
      `${await writeParquet(out, trajectoryRows(log), originOf(log))} trajectories in ${out}`,
  },
  {
    name: 'demonstrations',
    summary: 'successes of training rollouts as {"messages"} a line, as rl model sft takes them',
    write: async (log, out) =>
      `${await writeLines(out, demonstrations(trajectoryRows(log)))} demonstrations in ${out}`,
  },
  {
    name: 'critiques',
    summary: 'critiques of judged steps as {"prompt", "completion"} a line, as rl model sft takes them',
    write: async (log, out) => `${await writeLines(out, critiques(trajectoryRows(log)))} critiques in ${out}`,
  },
  {
    name: 'metrics',
    summary:
      '{"step", "time", "metrics": {name: value}} a line, as wandb.log(metrics, step) and mlflow.log_metrics take it',
    write: async (log, out) => `${await writeLines(out, metricRows(log))} rows in ${out}`,
  },
  {
    name: 'otlp-json',
    summary: 'OpenTelemetry spans, an iteration a trace, as collectors take them on /v1/traces',
    async write(log, out) {
      await writePieces(out, otlpPieces(log))
      return `${log.countOf('IterationCompleted')} traces in ${out}`
    },
  },
  {
    name: 'tensorboard',
    summary: 'a folder with a TensorBoard event file',
    async write(log, out) {
      mkdirSync(out, { recursive: true })
      const rows = [...metricRows(log)]
      const seconds = Math.floor((rows[0]?.time ?? 0) / 1000)
      const file = join(out, `events.out.tfevents.${seconds}.${hostname()}.${log.run}`)
      writeFileSync(file, tensorboardFile(rows))
      return `${rows.length} summaries in ${file}`
    },
  },
  trl,
  huggingFace,
  wandb,
  trackio,
]

/** Time limit of a user's exporter, in seconds. */
export const EXPORT_SECONDS = 600

/**
 * Returns our exporters and those that a module exports as `exporters`.
 *
 * @param seconds time limit of each exporter of the module
 * @throws RlError `exporter.invalid`, or an error of `loadUserModule`
 */
export async function exportersWith(
  module: string | undefined,
  seconds = EXPORT_SECONDS,
): Promise<readonly Exporter[]> {
  if (module === undefined) return EXPORTERS
  const { file, exports } = await loadUserModule(module, '--module')
  refuseUnread(file, exports)
  const list: unknown = exports.exporters
  if (!Array.isArray(list) || list.length === 0) throw invalid(file, 'there is no exported list `exporters`')
  for (const [i, one] of list.entries()) {
    const { name, summary, write } = (one ?? {}) as Partial<Exporter>
    if (typeof name !== 'string' || name === '') throw invalid(file, `exporter ${i} has no name`)
    if (typeof summary !== 'string') throw invalid(file, `'${name}' has no summary`)
    if (typeof write !== 'function') throw invalid(file, `'${name}' has no function \`write\``)
    if (EXPORTERS.some((ours) => ours.name === name))
      throw invalid(file, `'${name}' is the name of a built-in format`)
  }
  const limit: CallLimit = { ms: seconds * 1000, key: '--timeout' }
  return [...EXPORTERS, ...(list as Exporter[]).map((one) => guarded(one, file, limit))]
}

/** Guards a user's exporter. Errors name it. It must say in time what it has written. */
function guarded(exporter: Exporter, file: string, limit: CallLimit): Exporter {
  const call: UserCall = {
    file,
    part: `exporters: '${exporter.name}': write()`,
    code: 'exporter.invalid',
    hint: 'it resolves to a line that tells what was written',
  }
  const isLine: Check = (value) =>
    typeof value === 'string' && value.trim() !== ''
      ? null
      : `: expected a line of text, and got ${shown(value)}`
  return {
    ...flattened(exporter),
    write: (log, out) => callWithin(call, limit, () => exporter.write(log, out), isLine),
  }
}

const shown = (value: unknown) => (value === undefined ? 'nothing' : JSON.stringify(value))

function invalid(file: string, message: string): RlError {
  return new RlError(`${file}: ${message}`, {
    code: 'exporter.invalid',
    hint: 'a list of { name, summary, write }',
  })
}

/** Rows that wait for the first trained one. */
const MOST_HELD = 5_000

/**
 * Yields rows for JSON lines. Readers take the type of a column from its first values: pyarrow and Polars refuse one that is null
 * for the first megabytes. So a column that is null is left out, and rows before the first trained one come after it. It has
 * judgements and advantages.
 */
export function* lineRows(rows: Iterable<TrajectoryRow>): Generator<object> {
  let held: TrajectoryRow[] | null = []
  for (const row of rows) {
    if (held && row.advantages === null && held.length < MOST_HELD) {
      held.push(row)
      continue
    }
    yield withoutNulls(row)
    for (const one of held ?? []) yield withoutNulls(one)
    held = null
  }
  for (const one of held ?? []) yield withoutNulls(one)
}

const withoutNulls = (row: TrajectoryRow): object =>
  Object.fromEntries(Object.entries(row).filter(([, value]) => value !== null))
