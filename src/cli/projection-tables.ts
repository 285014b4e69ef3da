/** Tables of the projections for people. */
import type Database from 'better-sqlite3'
import { inLine } from '../command-line.ts'
import { wilson } from '../learning/interval.ts'
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

export const VIEWS = {
  accuracy: accuracyRows,
  kinds: kindRows,
  'reward-quality': qualityRows,
  'task-growth': growth,
  throughput: throughputRows,
  lineage: lineageRows,
  'training-health': healthRows,
  'unit-tests': unitTestRows,
} as const
export type View = keyof typeof VIEWS

export const FORMATS: Readonly<Record<View, (db: Database.Database) => string>> = {
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

export function table(head: readonly string[], rows: readonly (readonly (string | number)[])[]): string {
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
