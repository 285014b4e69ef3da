/** Why success changed at an iteration: whether it changed at all, then what differed. */
import type Database from 'better-sqlite3'
import { RlError } from '../../errors.ts'
import type { LogReader } from '../../events/log-reader.ts'
import { itemAt } from '../../item-at.ts'
import {
  clusteredShare,
  type Estimate,
  estimateDifference,
  pairedDifference,
  wilson,
} from '../../learning/interval.ts'
import { healthRows } from '../../projections/views.ts'
import { count, share, short } from '../logic/format.ts'
import { changeVerdict, type WhyChange, type WhyPage } from '../logic/why-page.ts'
import { eventAt } from './event-at.ts'
import type { OpenRun } from './open-runs.ts'
import { judgePoints, seriesOf, shareOf, type TaskRow, taskRows } from './overview.ts'

/** @throws RlError `ui.no-iteration` */
export function whyPage({ log, figures }: OpenRun, iteration: number, series: string, at: number): WhyPage {
  const folded = figures.read()
  const ended = log.newest(['IterationCompleted'], at)
  const closed = ended?.type === 'IterationCompleted' ? ended.data.iteration : -1
  const all = folded === null ? [] : taskRows(folded.db, closed).filter(({ n, failed }) => n + failed > 0)
  const own = all.filter((row) => seriesOf(row) === series)
  const iterations = [...new Set(own.map((row) => row.iteration))]
  const now = own.filter((row) => row.iteration === iteration)
  if (folded === null || now.length === 0)
    throw new RlError(`'${series.slice(0, 64)}' was not measured in iteration ${iteration}`, {
      code: 'ui.no-iteration',
      hint:
        iterations.length === 0
          ? `there are ${[...new Set(all.map(seriesOf))].join(', ') || 'no figures yet'}`
          : `it was measured in ${iterations.slice(-8).join(', ')}`,
    })
  const before = iterations.findLast((one) => one < iteration) ?? null
  const shown = { series, iteration, before, iterations, now: clusteredShare(now) }
  if (before === null)
    return {
      ...shown,
      was: null,
      difference: null,
      byRollout: null,
      paired: null,
      verdict: { kind: 'open', text: 'This is the first measurement. There is nothing to compare it with.' },
      changes: [],
    }
  const was = own.filter((row) => row.iteration === before)
  const difference = estimateDifference(shown.now, clusteredShare(was))
  const byRollout = estimateDifference(byRollouts(now), byRollouts(was))
  const pairs = pairsOf(now, all)
  const paired = pairs.length < 2 ? null : pairedDifference(pairs)
  // Held-out tasks are the same each time, so their pairs say more.
  const sure = paired !== null && series !== 'train' ? paired : difference
  const of = sure === paired ? `${paired.n} tasks in pairs` : `${now.length} and ${was.length} tasks`
  return {
    ...shown,
    was: clusteredShare(was),
    difference,
    byRollout,
    paired,
    verdict: changeVerdict({
      was: clusteredShare(was).value,
      now: shown.now.value,
      low: sure.low,
      high: sure.high,
      looksSure: byRollout.low > 0 || byRollout.high < 0,
      of,
    }),
    changes: changesOf({ log, db: folded.db, at, all, was, now, closed }),
  }
}

function byRollouts(rows: readonly TaskRow[]): Estimate {
  const sum = (name: 'successes' | 'n') => rows.reduce((total, row) => total + row[name], 0)
  return wilson(sum('successes'), sum('n'))
}

/** Each task with its last measurement before, if there is one. */
function pairsOf(now: readonly TaskRow[], all: readonly TaskRow[]): (readonly [number, number])[] {
  return now.flatMap((row) => {
    const earlier = earlierOf(row, all)
    return earlier === undefined || row.n === 0 ? [] : [[shareOf(earlier), shareOf(row)] as const]
  })
}

/** Rows are in order of their iterations. A candidate that was accepted is trained on later. */
function earlierOf(row: TaskRow, all: readonly TaskRow[]): TaskRow | undefined {
  const isHeldOut = row.purpose === 'evaluation'
  return all.findLast(
    (one) =>
      one.task === row.task &&
      one.iteration < row.iteration &&
      one.n > 0 &&
      (one.purpose === 'evaluation') === isHeldOut &&
      (!isHeldOut || one.split === row.split),
  )
}

type Compared = {
  readonly log: LogReader
  readonly db: Database.Database
  readonly at: number
  readonly all: readonly TaskRow[]
  readonly was: readonly TaskRow[]
  readonly now: readonly TaskRow[]
  readonly closed: number
}

function changesOf(compared: Compared): WhyChange[] {
  const isTraining = itemAt(compared.now, 0).purpose === 'train'
  return [
    ...(isTraining ? [...kindsOf(compared), ...rewrittenOf(compared)] : []),
    ...updateOf(compared),
    ...judgeOf(compared),
    ...playOf(compared),
    ...stalenessOf(compared),
  ]
}

/** Expected success by the kinds of tasks alone: each kind counts with its success over all iterations. */
function kindsOf({ db, all, was, now }: Compared): WhyChange[] {
  const kinds = new Map(
    (
      db.prepare('SELECT task, kind FROM lineage WHERE task IS NOT NULL').raw().all() as [string, string][]
    ).map(([task, kind]) => [task, kind]),
  )
  const totals = new Map<string, { successes: number; n: number }>()
  for (const { task, successes, n, purpose } of all) {
    if (purpose !== 'train') continue
    const kind = kinds.get(task) ?? ''
    const known = totals.get(kind) ?? { successes: 0, n: 0 }
    totals.set(kind, { successes: known.successes + successes, n: known.n + n })
  }
  const expected = (rows: readonly TaskRow[]) => {
    const n = rows.reduce((sum, row) => sum + row.n, 0)
    const sum = rows.reduce((total, row) => {
      const kind = totals.get(kinds.get(row.task) ?? '')
      return total + (kind === undefined || kind.n === 0 ? 0 : (row.n * kind.successes) / kind.n)
    }, 0)
    return n === 0 ? 0 : sum / n
  }
  const [before, after] = [expected(was), expected(now)]
  const change = after - before
  return [
    {
      what: 'kinds of the drawn tasks',
      was: share(before),
      now: share(after),
      meaning: `Each kind of task has its own success over all iterations. By the kinds that were drawn, ${share(after)} was to be expected now.`,
      isOdd: Math.abs(change) >= 0.05,
      page: ['g', itemAt(now, 0).iteration, itemAt(now, 0).slot],
    },
  ]
}

function rewrittenOf({ db, was, now }: Compared): WhyChange[] {
  const rewritten = new Map(
    (
      db.prepare(`SELECT task, direction FROM lineage WHERE status = 'accepted'`).raw().all() as [
        string,
        string,
      ][]
    ).map(([task, direction]) => [task, direction]),
  )
  const number = (rows: readonly TaskRow[], direction: string) =>
    rows.filter(({ task }) => rewritten.get(task) === direction).length
  const words = (rows: readonly TaskRow[]) =>
    `${number(rows, 'harder')} harder, ${number(rows, 'easier')} easier of ${rows.length}`
  const accepted = (
    db
      .prepare(
        `SELECT direction FROM lineage WHERE status = 'accepted' AND decided_iteration >= ? AND decided_iteration < ?`,
      )
      .pluck()
      .all(itemAt(was, 0).iteration, itemAt(now, 0).iteration) as string[]
  ).filter((direction) => direction === 'harder').length
  return [
    {
      what: 'rewritten tasks among those drawn',
      was: words(was),
      now: words(now),
      meaning: `Between the two, ${accepted} harder candidate${accepted === 1 ? '' : 's'} took the place of a task.`,
      isOdd: number(now, 'harder') > number(was, 'harder'),
      page: ['tasks'],
    },
  ]
}

const versionOf = (rows: readonly TaskRow[]) => Math.max(...rows.map(({ policyVersion }) => policyVersion))

const FIGURES: readonly (readonly [metric: string, what: string, meaning: string])[] = [
  ['kl', 'KL divergence of the update', 'How far the update took the policy from the one before.'],
  ['clipShare', 'clipped share of the update', 'Share of tokens whose change was cut off.'],
  ['gradientNorm', 'norm of the gradient', 'Size of the step that the update wanted.'],
  ['tasksFlat', 'tasks that taught nothing', 'All of their rollouts had the same outcome.'],
]

/** The update that made the policy which played. Figures far above their median stand out. */
function updateOf({ db, was, now, closed }: Compared): WhyChange[] {
  const updates = healthRows(db).filter(
    ({ role, version }) => role === 'policy' && version > 0 && version <= closed,
  )
  const of = (rows: readonly TaskRow[]) => updates.find(({ version }) => version === versionOf(rows))
  const [before, after] = [of(was), of(now)]
  if (after === undefined) return []
  const page = ['versions', 'policy', after.version]
  const figures = FIGURES.flatMap(([metric, what, meaning]): WhyChange[] => {
    const value = after.metrics[metric]
    if (value === undefined) return []
    const others = updates.flatMap(({ metrics }) => metrics[metric] ?? []).sort((a, b) => a - b)
    const median = itemAt(others, Math.floor(others.length / 2))
    return [
      {
        what,
        was: short(before?.metrics[metric]),
        now: short(value),
        meaning: `${meaning} The median of all updates is ${short(median)}.`,
        isOdd: median > 0 && value > 3 * median,
        page,
      },
    ]
  })
  const stopped = after.stopped
  if (stopped === null) return figures
  return [
    {
      what: 'the update was stopped',
      was: before?.stopped ?? 'no',
      now: stopped,
      meaning: 'The update was not made, or only partly.',
      isOdd: true,
      page,
    },
    ...figures,
  ]
}

/** Verdicts on the rollouts that the policy was trained on. */
function judgeOf({ db, was, now, closed }: Compared): WhyChange[] {
  const points = judgePoints(db, 0, closed)
  const of = (rows: readonly TaskRow[]) => points.find(({ iteration }) => iteration === versionOf(rows))
  const [before, after] = [of(was), of(now)]
  if (after === undefined) return []
  const page = ['judge']
  const change = before === undefined ? 0 : after.meanVerdict - before.meanVerdict
  return [
    {
      what: 'mean verdict of the judge',
      was: short(before?.meanVerdict),
      now: short(after.meanVerdict),
      meaning: 'Of the rollouts that the policy was trained on, from −1 for bad to +1 for good.',
      isOdd: Math.abs(change) > 0.2,
      page,
    },
    {
      what: 'balanced accuracy of the judge',
      was: share(before?.process ?? null),
      now: share(after.process),
      meaning: 'Against true progress. At .50 its verdicts are worth nothing.',
      isOdd: after.process !== null && after.process < 0.55,
      page,
    },
  ]
}

type Play = { rollouts: number; invalid: number; atLimit: number }

/** Faults and ends of the rollouts themselves. */
function playOf({ log, at, was, now }: Compared): WhyChange[] {
  const failed = (rows: readonly TaskRow[]) => rows.reduce((sum, row) => sum + row.failed, 0)
  const [before, after] = [playIn(log, was, at), playIn(log, now, at)]
  const part = (number: number, { rollouts }: Play) => (rollouts === 0 ? 0 : number / rollouts)
  const page = ['i', itemAt(now, 0).iteration]
  return [
    {
      what: 'rollouts without an outcome',
      was: count(failed(was)),
      now: count(failed(now)),
      meaning: 'They failed, or their environment could not tell. They count in no share.',
      isOdd: failed(now) > failed(was),
      page,
    },
    {
      what: 'unreadable answers of the policy',
      was: count(before.invalid),
      now: count(after.invalid),
      meaning: 'Answers that no rule could read as an action.',
      isOdd: part(after.invalid, after) > 0.05 + 2 * part(before.invalid, before),
      page,
    },
    {
      what: 'rollouts that ran out of steps',
      was: share(part(before.atLimit, before)),
      now: share(part(after.atLimit, after)),
      meaning: 'They ended at the limit of steps, or of the context.',
      isOdd: part(after.atLimit, after) > part(before.atLimit, before) + 0.1,
      page,
    },
  ]
}

function playIn(log: LogReader, rows: readonly TaskRow[], at: number): Play {
  const first = itemAt(rows, 0)
  const { iteration } = first
  const play: Play = { rollouts: 0, invalid: 0, atLimit: 0 }
  const from = log.positionOf('key', `IterationStarted/${iteration}`)
  if (from === null) return play
  const until = Math.min(at, log.positionOf('key', `IterationCompleted/${iteration}`) ?? at)
  for (const { data } of log.events({ from, until, types: ['TrajectoryCompleted'] })) {
    if (data.iteration !== iteration || seriesOf(data) !== seriesOf(first)) continue
    play.rollouts++
    play.invalid += Object.values(data.invalid).reduce((sum, n) => sum + n, 0)
    if (data.ended === 'step-limit' || data.ended === 'context') play.atLimit++
  }
  return play
}

function stalenessOf({ log, at, was, now }: Compared): WhyChange[] {
  const of = (rows: readonly TaskRow[]) => {
    const event = eventAt(log, `IterationCompleted/${itemAt(rows, 0).iteration}`, at)
    return event?.type === 'IterationCompleted' ? (event.data.metrics.staleness ?? 0) : 0
  }
  const [before, after] = [of(was), of(now)]
  return [
    {
      what: 'staleness',
      was: short(before),
      now: short(after),
      meaning: 'Number of versions by which the playing policy was behind.',
      isOdd: after > before,
      page: ['i', itemAt(now, 0).iteration],
    },
  ]
}
