import type Database from 'better-sqlite3'
import { runFolder } from '../broker/connection.ts'
import { inLine, parseCommandLine, printJson, printLine } from '../command-line.ts'
import { loggedConfig } from '../config.ts'
import { RlError } from '../errors.ts'
import type { LogReader } from '../events/log-reader.ts'
import { startsOf } from '../events/starts.ts'
import { type KeptProjections, openKept } from '../projections/kept.ts'
import type { Projection } from '../projections/projection.ts'
import { projectionsOf } from '../projections/registry.ts'
import { canWrite, rebuildKept, withKeptFile } from '../replay/projections.ts'
import type { Command } from './command.ts'
import { openRun, TRUST, TRUST_HELP } from './open-run.ts'
import { VIEWS, type View, viewText } from './projection-tables.ts'
import { table } from './table.ts'

export const command: Command = {
  summary: 'figures of a run, as they follow from its log',
  help: `
rl projections RUN show                  each view in short
rl projections RUN show VIEW...          the last rows of ${Object.keys(VIEWS).join(', ')}, or all of your own
rl projections RUN rebuild [--json]      throws the tables away and folds the whole log again

  --all    shows all rows and columns in full, however wide
  --json   prints all of it for tools

Accuracies come with n and a 95 % interval (Wilson). n counts rollouts with an outcome. Rollouts that failed, or whose
environment abstained, are counted beside it. ${TRUST_HELP}.
`,
  async run(argv) {
    const { values, positionals } = parseCommandLine(
      {
        options: {
          json: { type: 'boolean', default: false },
          all: { type: 'boolean', default: false },
          ...TRUST,
        },
        allowPositionals: true,
      },
      argv,
    )
    const [run, action = 'show', ...views] = positionals
    if (run === undefined || (action !== 'show' && action !== 'rebuild'))
      throw new RlError('expected a run and show or rebuild', { code: 'cli.usage', hint: 'see --help' })
    const { projections: file } = runFolder(run)
    const log = await openRun(run, values)
    try {
      const users = projectionsOf(loggedConfig(startsOf(log).last.data.config))
      const known = [...Object.keys(VIEWS), ...users.map(({ name }) => name)]
      for (const view of views) if (!known.includes(view)) throw unknownView(view, known)
      const json = values.json ?? false
      if (action === 'rebuild') rebuild(log, file, users, json)
      else {
        const most = values.all ? null : views.length > 0 ? LAST_ROWS : FEW_ROWS
        show(log, file, users, views.length > 0 ? views : known, json ? 'json' : most)
      }
    } finally {
      log.close()
    }
    return 0
  },
}

function rebuild(log: LogReader, file: string, users: readonly Projection[], json: boolean): void {
  if (!canWrite(file))
    throw new RlError(`${file} cannot be written by this user`, {
      code: 'projections.read-only',
      hint: `rl projections ${log.run} show folds a copy`,
    })
  const started = performance.now()
  const { before, digests, events, position, failed } = rebuildKept(file, log, users)
  const seconds = (performance.now() - started) / 1000
  if (json) printJson({ run: log.run, position, events, seconds, before, digests })
  else {
    printLine(`${events} events in ${seconds.toFixed(2)} s, up to position ${position}`)
    for (const [name, digest] of Object.entries(digests))
      printLine(`${name.padEnd(16)} ${digest.slice(0, 16)}${before[name] === digest ? ' as before' : ''}`)
  }
  tellFailed(failed)
}

function show(
  log: LogReader,
  file: string,
  users: readonly Projection[],
  views: readonly string[],
  /** Most rows of a view. Null for all, `json` for all of it for tools. */
  most: number | null | 'json',
): void {
  withKeptFile(file, (db) => {
    const projections = openKept(db, users)
    projections.catchUp(log)
    for (const view of views) {
      const own = users.find(({ name }) => name === view)
      if (most === 'json')
        printJson({ run: log.run, view, ...(own ? ownRows(db, own) : asObject(VIEWS[view as View](db))) })
      else
        printLine(`${own ? `${view}\n${ownText(db, own)}` : builtInText(db, view as View, most, log.run)}\n`)
    }
    if (most === FEW_ROWS)
      printLine(
        `more of one: rl projections ${log.run} show VIEW\nall of it: rl projections ${log.run} show --all`,
      )
    tellFailed(projections.failed)
  })
}

/** Rows of a view that is asked for by its name, and of one that is not. */
const LAST_ROWS = 20
const FEW_ROWS = 3

function builtInText(db: Database.Database, view: View, most: number | null, run: string): string {
  const { text, shown, rows, cut } = viewText(db, view, most)
  if (rows === 0) return `${view}: no rows`
  const count = shown < rows ? `the last ${shown} of ${rows} rows` : `${rows} row${rows === 1 ? '' : 's'}`
  if (most === FEW_ROWS) return `${view}: ${count}\n${text}`
  const left = [...(shown < rows ? ['rows'] : []), ...(cut ? ['columns'] : [])].join(' and ')
  const how = left === '' ? '' : `; all ${left}: rl projections ${run} show ${view} --all`
  return `${view}\n${text}\n${count}${how}`
}

/** All rows of a user's projection, by table, in order of their keys. */
function ownRows(db: Database.Database, { tables }: Projection): { tables: Record<string, unknown[]> } {
  return {
    tables: Object.fromEntries(
      tables.map(({ name, key }) => [
        name,
        db.prepare(`SELECT * FROM ${name} ORDER BY ${key.join(', ')}`).all(),
      ]),
    ),
  }
}

function ownText(db: Database.Database, projection: Projection): string {
  const { tables } = ownRows(db, projection)
  return projection.tables
    .map(({ name, fresh }) => {
      const columns = Object.keys(fresh)
      const rows = (tables[name] as Record<string, string | number | null>[]).map((row) =>
        columns.map((column) => row[column] ?? '-'),
      )
      return `${name === projection.name ? '' : `${name}\n`}${table(columns, rows).text}`
    })
    .join('\n')
}

function tellFailed(failed: KeptProjections['failed']): void {
  for (const [name, reason] of failed)
    process.stderr.write(
      `rl: the projection '${name}' has failed and stays at its last position: ${inLine(reason)}\n`,
    )
}

/** A list of rows as an object, for --json. */
function asObject(rows: unknown): object {
  return Array.isArray(rows) ? { rows } : (rows as object)
}

function unknownView(view: string, known: readonly string[]): RlError {
  return new RlError(`there is no view '${view}'`, {
    code: 'cli.usage',
    hint: `there are ${known.join(', ')}`,
  })
}
