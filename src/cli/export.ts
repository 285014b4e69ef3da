import { once } from 'node:events'
import { createWriteStream, mkdirSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { RlError } from '../errors.ts'
import type { LogReader } from '../events/log-reader.ts'
import { metricRows, trajectoryRows } from '../replay/export.ts'
import { writeParquet } from '../replay/parquet.ts'
import { tensorboardFile } from '../replay/tensorboard.ts'
import { type Command, parseCommandLine } from './command.ts'
import { openRun } from './open-run.ts'

const WRITERS: Readonly<Record<string, (log: LogReader, out: string) => Promise<string>>> = {
  async jsonl(log, out) {
    return `${await writeLines(out, trajectoryRows(log))} trajectories in ${out}`
  },
  async parquet(log, out) {
    return `${writeParquet(out, trajectoryRows(log))} trajectories in ${out}`
  },
  async metrics(log, out) {
    return `${await writeLines(out, metricRows(log))} rows in ${out}`
  },
  async tensorboard(log, out) {
    mkdirSync(out, { recursive: true })
    const rows = [...metricRows(log)]
    const file = join(
      out,
      `events.out.tfevents.${Math.floor((rows[0]?.time ?? 0) / 1000)}.${hostname()}.${log.run}`,
    )
    writeFileSync(file, tensorboardFile(rows))
    return `${rows.length} summaries in ${file}`
  },
}

export const command: Command = {
  summary: 'a run for other tools: trajectories with advantages, and figures',
  help: `
rl export RUN --format FORMAT -o PATH

  jsonl        trajectories, one a line: texts, scores, advantages, tokens, masks, log-probs
  parquet      the same as a Parquet file
  metrics      {"step", "time", "metrics": {name: value}} a line, as wandb.log(metrics, step) and mlflow.log_metrics take it
  tensorboard  a folder with a TensorBoard event file
`,
  async run(argv) {
    const { values, positionals } = parseCommandLine(
      {
        options: { format: { type: 'string' }, out: { type: 'string', short: 'o' } },
        allowPositionals: true,
      },
      argv,
    )
    const [run] = positionals
    const { format = '', out } = values
    if (run === undefined || out === undefined || !Object.hasOwn(WRITERS, format))
      throw new RlError(`expected a run, --format ${Object.keys(WRITERS).join('|')} and -o PATH`, {
        code: 'cli.usage',
        hint: 'rl export --help',
      })
    const log = await openRun(run)
    try {
      process.stdout.write(`${await WRITERS[format](log, out)}\n`)
    } finally {
      log.close()
    }
    return 0
  },
}

async function writeLines(path: string, rows: Iterable<object>): Promise<number> {
  const out = createWriteStream(path)
  let count = 0
  for (const row of rows) {
    count++
    if (!out.write(`${JSON.stringify(row)}\n`)) await once(out, 'drain')
  }
  out.end()
  await once(out, 'close')
  return count
}
