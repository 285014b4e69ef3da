import { existsSync } from 'node:fs'
import type Database from 'better-sqlite3'
import { runFolder } from '../broker/connection.ts'
import { inLine, parseCommandLine, printJson, printLine } from '../command-line.ts'
import { loggedConfig } from '../config.ts'
import { RlError } from '../errors.ts'
import type { LogReader } from '../events/log-reader.ts'
import { startsOf } from '../events/starts.ts'
import { wilson } from '../learning/interval.ts'
import { PROJECTIONS } from '../projections/all.ts'
import { type KeptProjections, openKept } from '../projections/kept.ts'
import { clearProjections, type Projection } from '../projections/projection.ts'
import { projectionsOf } from '../projections/registry.ts'
import {
  type Agreement,
  accuracyRows,
  growth,
  healthRows,
  type KindRow,
  kindRows,
  lineageRows,
  qualityRows,
  throughputRows,
  unitTestRows,
} from '../projections/views.ts'
import { canWrite, openKeptFile } from '../replay/projections.ts'
import type { Command } from './command.ts'
import { openRun, TRUST, TRUST_HELP } from './open-run.ts'

const VIEWS = {
  accuracy: accuracyRows,
  kinds: kindRows,
  'reward-quality': qualityRows,
  'task-growth': growth,
  throughput: throughputRows,
  lineage: lineageRows,
  'training-health': healthRows,
  'unit-tests': unitTestRows,
} as const
type View = keyof typeof VIEWS

export const command: Command = {
  summary: 'figures of a run, as they follow from its log',
  help: `
rl projections RUN show [VIEW...] [--json]   ${Object.keys(VIEWS).join(', ')}, and your own by their names
rl projections RUN rebuild [--json]          throws the tables away and folds the whole log again

Accuracies come with n and a 95 % interval (Wilson). n counts rollouts with an outcome. Rollouts that failed, or whose
environment abstained, are counted beside it. ${TRUST_HELP}.
`,
  async run(argv) {
    const { values, positionals } = parseCommandLine(
      { options: { json: { type: 'boolean', default: false }, ...TRUST }, allowPositionals: true },
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
      else show(log, file, users, views.length > 0 ? views : known, json)
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
  const { db, close } = openKeptFile(file)
  try {
    const before = existsSync(file) ? openKept(db, users).digests() : {}
    clearProjections(db, [...PROJECTIONS, ...users])
    const projections = openKept(db, users)
    const started = performance.now()
    const events = projections.catchUp(log)
    const seconds = (performance.now() - started) / 1000
    const digests = projections.digests()
    if (json) printJson({ run: log.run, position: projections.position(), events, seconds, before, digests })
    else {
      printLine(`${events} events in ${seconds.toFixed(2)} s, up to position ${projections.position()}`)
      for (const [name, digest] of Object.entries(digests))
        printLine(`${name.padEnd(16)} ${digest.slice(0, 16)}${before[name] === digest ? ' as before' : ''}`)
    }
    tellFailed(projections)
  } finally {
    close()
  }
}

function show(
  log: LogReader,
  file: string,
  users: readonly Projection[],
  views: readonly string[],
  json: boolean,
): void {
  const { db, close } = openKeptFile(file)
  try {
    const projections = openKept(db, users)
    projections.catchUp(log)
    for (const view of views) {
      const own = users.find(({ name }) => name === view)
      if (json)
        printJson({ run: log.run, view, ...(own ? ownRows(db, own) : asObject(VIEWS[view as View](db))) })
      else printLine(`${view}\n${own ? ownText(db, own) : FORMATS[view as View](db)}\n`)
    }
    tellFailed(projections)
  } finally {
    close()
  }
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
      return `${name === projection.name ? '' : `${name}\n`}${table(columns, rows)}`
    })
    .join('\n')
}

function tellFailed({ failed }: KeptProjections): void {
  for (const [name, reason] of failed)
    process.stderr.write(
      `rl: the projection '${name}' has failed and stays at its last position: ${inLine(reason)}\n`,
    )
}

/** A list of rows as an object, for --json. */
function asObject(rows: unknown): object {
  return Array.isArray(rows) ? { rows } : (rows as object)
}

const FORMATS: Readonly<Record<View, (db: Database.Database) => string>> = {
  accuracy: (db) =>
    table(
      [
        'iteration',
        'purpose',
        'split',
        'policy',
        'tasks',
        'accuracy',
        '95 %',
        'n',
        'failed',
        'abstained',
        'steps',
      ],
      accuracyRows(db).map((row) => {
        const { iteration, purpose, split, policyVersion, tasks } = row
        return [
          ...[iteration, purpose, split, policyVersion, tasks],
          ...withInterval(row),
          ...[row.failed, row.abstained, row.meanSteps?.toFixed(1) ?? '-'],
        ]
      }),
    ),
  kinds: (db) =>
    table(
      ['split', 'kind', 'first accuracy', '95 %', 'n', 'last accuracy', '95 %', 'n', 'without outcome'],
      firstAndLast(kindRows(db)).map(({ first, last }) => [
        first.split,
        first.kind,
        ...withInterval(first),
        ...withInterval(last),
        first.failed + first.abstained + last.failed + last.abstained,
      ]),
    ),
  'reward-quality': (db) =>
    table(
      [
        'iteration',
        'purpose',
        'version',
        'steps',
        'process',
        'balanced',
        'by majority',
        'outcome',
        'by majority',
        'mean verdict',
        'unreadable',
      ],
      qualityRows(db).map((row) => [
        row.iteration,
        row.purpose,
        row.rewardModelVersion,
        row.steps,
        share(row.process.single),
        row.process.single.balanced?.toFixed(3) ?? '-',
        share(row.process.majority),
        share(row.outcome.single),
        share(row.outcome.majority),
        row.meanVerdict.toFixed(2),
        row.unreadable,
      ]),
    ),
  'task-growth'(db) {
    const { rows, fit } = growth(db)
    const line = fit
      ? `\naccepted = ${fit.slope.value.toFixed(2)} an iteration, R^2 ${fit.r2.toFixed(3)}`
      : ''
    return `${table(
      ['iteration', 'proposed', 'refused', 'accepted', 'harder', 'rejected', 'in all'],
      rows.map((row) => [
        row.iteration,
        row.proposed,
        row.refused,
        row.accepted,
        row.acceptedHarder,
        row.rejected,
        row.acceptedSoFar,
      ]),
    )}${line}`
  },
  'unit-tests': (db) =>
    table(
      [
        'iteration',
        'purpose',
        'split',
        'tasks',
        'code',
        'unit tests',
        'of tasks',
        'detect',
        'of tasks',
        'best of N',
        'novel: unit tests',
        'detect',
        'best of N',
        'tests',
        'unreadable',
        'flaky',
      ],
      unitTestRows(db).map((row) => [
        row.iteration,
        row.purpose,
        row.split,
        row.tasks,
        row.code?.toFixed(3) ?? '-',
        row.unitTest?.toFixed(3) ?? '-',
        row.unitTestTasks,
        row.detect?.toFixed(3) ?? '-',
        row.detectTasks,
        row.bestOfN?.toFixed(3) ?? '-',
        row.novelUnitTest?.toFixed(3) ?? '-',
        row.novelDetect?.toFixed(3) ?? '-',
        row.novelBestOfN?.toFixed(3) ?? '-',
        row.novelTests,
        `${row.invalidTests} of ${row.tests}`,
        row.flaky,
      ]),
    ),
  throughput: (db) =>
    table(
      ['iteration', 'seconds', 'rollouts', '/s', 'prompt', 'cached', 'generated', 'judged steps'],
      throughputRows(db).map((row) => [
        row.iteration,
        row.seconds?.toFixed(1) ?? '-',
        row.rollouts,
        row.rolloutsPerSecond?.toFixed(1) ?? '-',
        row.promptTokens,
        row.cachedTokens,
        row.completionTokens,
        row.stepsScored,
      ]),
    ),
  lineage: (db) =>
    table(
      ['iteration', 'slot', 'direction', 'parent', 'accuracy', 'task', 'status', 'accuracy', 'reason'],
      lineageRows(db).map((row) => [
        row.iteration,
        row.slot,
        row.direction ?? '-',
        row.parent ?? '-',
        tally(row.parentSuccesses, row.parentN),
        row.task ?? '-',
        row.status,
        tally(row.successes, row.n),
        row.reason ?? '-',
      ]),
    ),
  'training-health': (db) =>
    table(
      ['role', 'version', 'rollouts', 'samples', 'figures', 'stopped'],
      healthRows(db).map((row) => [
        row.role,
        row.version,
        row.rollouts,
        row.samples,
        Object.entries(row.metrics)
          .map(([name, value]) => `${name} ${Number(value.toPrecision(3))}`)
          .join(', '),
        row.stopped ?? '-',
      ]),
    ),
}

type Measured = { readonly successes: number; readonly n: number }

/** An accuracy, its interval and n. */
function withInterval({ successes, n }: Measured): [string, string, number] {
  const { value, low, high } = wilson(successes, n)
  return [value.toFixed(3), `[${low.toFixed(3)}, ${high.toFixed(3)}]`, n]
}

/**
 * Returns the first and the last evaluation of each kind. Rows of a kind are adjacent, in order of their
 * iterations.
 */
function firstAndLast(rows: readonly KindRow[]): { first: KindRow; last: KindRow }[] {
  const found = new Map<string, { first: KindRow; last: KindRow }>()
  for (const row of rows) {
    const name = `${row.split} ${row.kind}`
    found.set(name, { first: found.get(name)?.first ?? row, last: row })
  }
  return [...found.values()]
}

function share({ right, n }: Agreement): string {
  return n === 0 ? '-' : (right / n).toFixed(3)
}

function tally(successes: number | null, n: number | null): string {
  return n === null ? '-' : `${successes}/${n}`
}

function table(head: readonly string[], rows: readonly (readonly (string | number)[])[]): string {
  const cells = [head, ...rows.map((row) => row.map((cell) => inLine(String(cell))))]
  const widths = head.map((_, column) => Math.max(...cells.map((row) => row[column].length)))
  return cells
    .map((row) =>
      row
        .map((cell, i) => cell.padEnd(widths[i]))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}

function unknownView(view: string, known: readonly string[]): RlError {
  return new RlError(`there is no view '${view}'`, {
    code: 'cli.usage',
    hint: `there are ${known.join(', ')}`,
  })
}
