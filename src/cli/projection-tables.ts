/** Tables of the projections for people. */
import type Database from 'better-sqlite3'
import { sparkline, WIDTH } from '../columns.ts'
import { wilson } from '../learning/interval.ts'
import { hostRows } from '../projections/host-rows.ts'
import {
  type AccuracyRow,
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
import { HOST_COLUMNS, hostCells } from './host-figures.ts'
import { type Cell, table } from './table.ts'

export const VIEWS = {
  accuracy: accuracyRows,
  kinds: kindRows,
  'reward-quality': qualityRows,
  'task-growth': growth,
  throughput: throughputRows,
  lineage: lineageRows,
  'training-health': healthRows,
  'unit-tests': unitTestRows,
  hosts: hostRows,
} as const
export type View = keyof typeof VIEWS

/** A column named in `detail` is shown only with all rows. */
type Column = string | { readonly detail: string }

type Shown = {
  /** Lines above the table and below it. */
  readonly above?: readonly string[]
  readonly below?: readonly string[]
  readonly columns: readonly Column[]
  /** In order of time, if they have one. */
  readonly rows: readonly (readonly Cell[])[]
}

const FORMATS: Readonly<Record<View, (db: Database.Database) => Shown>> = {
  accuracy(db) {
    const rows = accuracyRows(db)
    return {
      above: curves(rows, openIterations(db)),
      columns: [
        ...['iteration', 'purpose', 'split', 'policy', { detail: 'tasks' }, 'accuracy', '95 %', 'n'],
        ...['failed', 'abstained', 'steps'],
      ],
      rows: rows.map((row) => {
        const { iteration, purpose, split, policyVersion, tasks } = row
        return [
          ...[iteration, purpose, split, policyVersion, tasks],
          ...withInterval(row),
          ...[row.failed, row.abstained, row.meanSteps?.toFixed(1) ?? '-'],
        ]
      }),
    }
  },
  kinds: (db) => ({
    columns: ['split', 'kind', 'first', '95 %', 'n', 'last', '95 %', 'n', { detail: 'without outcome' }],
    rows: firstAndLast(kindRows(db)).map(({ first, last }) => [
      first.split,
      first.kind,
      ...withInterval(first),
      ...withInterval(last),
      first.failed + first.abstained + last.failed + last.abstained,
    ]),
  }),
  'reward-quality': (db) => ({
    columns: [
      ...['iteration', 'purpose', 'version', 'steps', 'process', 'balanced', { detail: 'by majority' }],
      ...['outcome', { detail: 'by majority' }, 'mean verdict', 'unreadable'],
    ],
    rows: qualityRows(db).map((row) => [
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
  }),
  'task-growth'(db) {
    const { rows, fit } = growth(db)
    return {
      columns: ['iteration', 'proposed', 'refused', 'accepted', 'harder', 'rejected', 'in all'],
      rows: rows.map((row) => [
        row.iteration,
        row.proposed,
        row.refused,
        row.accepted,
        row.acceptedHarder,
        row.rejected,
        row.acceptedSoFar,
      ]),
      below: fit ? [`accepted = ${fit.slope.value.toFixed(2)} an iteration, R^2 ${fit.r2.toFixed(3)}`] : [],
    }
  },
  'unit-tests': (db) => ({
    columns: [
      ...['iteration', 'purpose', 'split', 'tasks', 'code', 'unit tests', { detail: 'of tasks' }, 'detect'],
      ...[{ detail: 'of tasks' }, 'best of N', { detail: 'novel: unit tests' }, { detail: 'detect' }],
      ...[{ detail: 'best of N' }, { detail: 'tests' }, { detail: 'unreadable' }, 'flaky'],
    ],
    rows: unitTestRows(db).map((row) => [
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
  }),
  throughput: (db) => ({
    columns: [
      ...['iteration', 'seconds', 'rollouts', '/s', 'prompt', 'cached', 'generated', '/s', 'judged steps'],
    ],
    rows: throughputRows(db).map((row) => [
      row.iteration,
      row.seconds?.toFixed(1) ?? '-',
      row.rollouts,
      row.rolloutsPerSecond?.toFixed(1) ?? '-',
      row.promptTokens,
      row.cachedTokens,
      row.completionTokens,
      row.seconds ? (row.completionTokens / row.seconds).toFixed(0) : '-',
      row.stepsScored,
    ]),
  }),
  lineage: (db) => ({
    columns: [
      ...['iteration', 'slot', 'direction', { detail: 'parent' }, 'parent won', { detail: 'task' }, 'status'],
      ...['task won', 'reason'],
    ],
    rows: lineageRows(db).map((row) => [
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
  }),
  'training-health': (db) => ({
    columns: [
      ...['role', 'version', { detail: 'rollouts' }, 'samples', ...MAIN_FIGURES],
      ...[{ detail: 'other figures' }, 'stopped'],
    ],
    rows: healthRows(db)
      .toSorted((a, b) => a.version - b.version)
      .map(({ role, version, rollouts, samples, metrics, stopped }) => [
        ...[role, version, rollouts, samples],
        ...MAIN_FIGURES.map((name) => (metrics[name] === undefined ? '-' : figure(metrics[name]))),
        Object.entries(metrics)
          .filter(([name]) => !MAIN_FIGURES.includes(name))
          .map(([name, value]) => `${name} ${figure(value)}`)
          .join(', ') || '-',
        stopped ?? '-',
      ]),
  }),
  hosts: (db) => ({
    columns: HOST_COLUMNS,
    // The last rows are shown: hosts that lost the most.
    rows: hostRows(db).toReversed().map(hostCells),
  }),
}

const MAIN_FIGURES: readonly string[] = ['kl', 'entropy', 'clipShare', 'gradientNorm', 'loss']

const figure = (value: number) => String(Number(value.toPrecision(3)))

/** What is shown of a view. */
export type ViewText = {
  /** Empty if there are no rows. */
  readonly text: string
  /** Number of rows in the text, and of all. */
  readonly shown: number
  readonly rows: number
  /** Whether columns or ends of cells are missing. */
  readonly cut: boolean
}

/**
 * Returns the last rows of a view in at most 100 columns, without columns of details.
 *
 * @param most rows. Null for all rows, columns and cells in full
 */
export function viewText(db: Database.Database, view: View, most: number | null): ViewText {
  const { above = [], below = [], columns, rows } = FORMATS[view](db)
  if (rows.length === 0) return { text: '', shown: 0, rows: 0, cut: false }
  const kept = columns.flatMap((column, at) => (typeof column === 'string' || most === null ? [at] : []))
  const head = columns.map((column) => (typeof column === 'string' ? column : column.detail))
  const last = most === null ? rows : rows.slice(-most)
  const only = (row: readonly Cell[]) => kept.flatMap((at) => row.slice(at, at + 1))
  const { text, cut } = table(only(head), last.map(only), most === null ? undefined : WIDTH)
  return {
    text: [...above, text, ...below].join('\n'),
    shown: last.length,
    rows: rows.length,
    cut: cut || kept.length < columns.length,
  }
}

const MOST_BARS = 40

/** Iterations that go on. The rollouts that have ended by now are the short ones: their accuracy says little. */
function openIterations(db: Database.Database): ReadonlySet<number> {
  return new Set(
    throughputRows(db).flatMap(({ iteration, seconds }) => (seconds === null ? [iteration] : [])),
  )
}

/** Draws training and each split that was held out: its accuracies, the first and the last. */
function curves(rows: readonly AccuracyRow[], open: ReadonlySet<number>): string[] {
  const curves = new Map<string, number[]>()
  for (const { iteration, purpose, split, successes, n } of rows) {
    if (n === 0 || purpose === 'candidate' || open.has(iteration)) continue
    const name = purpose === 'train' ? 'training' : split
    curves.set(name, [...(curves.get(name) ?? []), successes / n])
  }
  const lines = [...curves].map(([name, shares]) => {
    const ends = [...shares.slice(0, 1), ...shares.slice(-1)].map((value) => value.toFixed(3))
    return [name, sparkline(shares, MOST_BARS), ends.join(' -> ')]
  })
  const [first, ...others] = lines
  return first === undefined ? [] : [table(first, others).text]
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
