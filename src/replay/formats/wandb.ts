/**
 * Figures of a run as an offline folder of Weights & Biases, which `wandb sync` uploads. Its file is a header, and records of
 * protocol buffers (`wandb_internal.proto`) in the framing of LevelDB's log.
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { LogReader } from '../../events/log-reader.ts'
import { startsOf } from '../../events/starts.ts'
import { type MetricRow, metricRows } from '../export.ts'
import { type Exporter, originOf } from '../exporter.ts'
import { bytes, integer } from './protocol-buffers.ts'
import { recordLog } from './record-log.ts'
import { stepRows } from './step-rows.ts'

const PROJECT = 'rlanything'
/** Name, magic number and version of the file. */
const MAGIC = Buffer.from([...Buffer.from(':W&B'), 0xe1, 0xbe, 0])

export const wandb: Exporter = {
  name: 'wandb',
  summary: 'a folder for Weights & Biases, as its offline mode makes it: wandb sync PATH/offline-run-*',
  async write(log, out) {
    // Without this name `wandb sync` takes the run as one that was online.
    const folder = join(out, `offline-run-${timeName(startsOf(log).first.time)}-${log.run}`)
    mkdirSync(folder, { recursive: true })
    const file = join(folder, `run-${log.run}.wandb`)
    const rows = stepRows(metricRows(log))
    writeFileSync(file, recordLog(MAGIC, recordsOf(log, rows)))
    return `${rows.length} steps in ${file}`
  },
}

/** Last second of the year 9999. A clock in a log may be beyond any calendar. */
const LAST_MS = 253_402_300_799_000

/** Returns the moment as `20261231_235959`. */
function timeName(ms: number): string {
  const digits = new Date(Math.min(ms, LAST_MS)).toISOString().replace(/\D/g, '')
  return `${digits.slice(0, 8)}_${digits.slice(8, 14)}`
}

/** Numbers of the fields of a `Record`. */
const FIELD = { num: 1, history: 2, summary: 3, run: 17, exit: 18, header: 21 } as const

const text = (field: number, value: string) => bytes(field, Buffer.from(value))
const message = (field: number, ...parts: readonly Buffer[]) => bytes(field, Buffer.concat(parts))
/** A pair of a name and a value in JSON. Names with a slash are one name: so they stand in the repeated field 2. */
const pair = (field: number, name: string, value: unknown) =>
  message(field, text(2, name), text(16, JSON.stringify(value)))

function* recordsOf(log: LogReader, rows: readonly MetricRow[]): Generator<Buffer> {
  let number = 0
  for (const body of bodiesOf(log, rows)) yield Buffer.concat([integer(FIELD.num, ++number), body])
}

function* bodiesOf(log: LogReader, rows: readonly MetricRow[]): Generator<Buffer> {
  const { first, last } = startsOf(log)
  const seconds = Math.floor(first.time / 1000)
  const config = { ...last.data.config, ...originOf(log) }
  const version = message(1, text(1, `rlanything ${last.data.codeVersion}`), text(2, '0.70.0'))
  yield message(FIELD.header, version)
  const described = [text(1, log.run), text(3, PROJECT), text(8, log.run), message(17, integer(1, seconds))]
  const keys = Object.entries(config).map(([name, value]) => pair(1, name, value))
  yield message(FIELD.run, ...described, message(4, ...keys))
  const latest: Record<string, number> = {}
  for (const { step, time, metrics } of rows) {
    const told = {
      ...metrics,
      _step: step,
      _timestamp: time / 1000,
      _runtime: time / 1000 - first.time / 1000,
    }
    Object.assign(latest, told)
    const items = Object.entries(told).map(([name, value]) => pair(1, name, value))
    yield message(FIELD.history, ...items, message(2, integer(1, step)))
  }
  yield message(FIELD.summary, ...Object.entries(latest).map(([name, value]) => pair(1, name, value)))
  yield message(FIELD.exit, integer(1, 0))
}
