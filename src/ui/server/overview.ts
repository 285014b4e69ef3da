/** Overview of a run: whether it learns, its curves, what it does now, and what stands out. */
import type Database from 'better-sqlite3'
import type { EvaluationConfig } from '../../config-schema/sections.ts'
import type { LoggedEvent } from '../../events/catalogue.ts'
import {
  clusteredShare,
  type Estimate,
  estimateDifference,
  pairedDifference,
  wilson,
} from '../../learning/interval.ts'
import { growth, type HealthRow, healthRows, qualityRows, throughputRows } from '../../projections/views.ts'
import type {
  GrowthPoint,
  JudgePoint,
  Overview,
  SuccessPoint,
  TimePoint,
  UpdatePoint,
} from '../logic/answers.ts'
import { knownConfig } from './known-config.ts'
import { notable } from './notable.ts'
import { doingNow } from './now.ts'
import type { OpenRun } from './open-runs.ts'

/** @param since first iteration whose rows are wanted */
export function overview(run: OpenRun, at: number, since = 0): Overview {
  const { log } = run
  const config = knownConfig(log, at)
  const ended = log.newest(['IterationCompleted'], at)
  const closed = closedBy(ended)
  const folded = run.figures.read()
  return {
    closed,
    complete: ended === null || (folded !== null && folded.position >= ended.position),
    ...figuresAt(run, config.evaluation, since, ended),
    now: doingNow(log, config.rewardModel.mode !== 'off', at),
    notable: notable(log, at),
  }
}

type Figures = Omit<Overview, 'closed' | 'complete' | 'now' | 'notable'>

const UNFOLDED: Overview['verdict'] = { kind: 'open', text: 'Not known yet: the log is still being read.' }

/** Shown until figures are folded. */
const NOTHING: Figures = {
  verdict: UNFOLDED,
  success: [],
  judge: [],
  growth: { rows: [], slope: null, intercept: null, r2: null },
  policyUpdates: [],
  times: [],
}

type Kept = { readonly key: string; readonly figures: Figures }

/** Figures of a run's last question. They change with an end of an iteration alone. */
const kept = new WeakMap<OpenRun, Kept>()

function figuresAt(
  run: OpenRun,
  evaluation: EvaluationConfig,
  since: number,
  ended: LoggedEvent | null,
): Figures {
  const folded = run.figures.read()
  if (folded === null) return NOTHING
  const end = ended?.position ?? 0
  const key = `${since} ${end} ${run.log.hashAt(end)}`
  const known = kept.get(run)
  if (known?.key === key) return known.figures
  const figures = figuresOf(folded.db, evaluation, since, closedBy(ended))
  if (folded.position >= end) kept.set(run, { key, figures })
  // A running head may be one iteration behind. A part of a log tells nothing of the whole.
  const before = run.log.newest(['IterationCompleted'], end - 1)?.position ?? 0
  return folded.position < before ? { ...figures, verdict: UNFOLDED } : figures
}

function closedBy(ended: LoggedEvent | null): number {
  return ended?.type === 'IterationCompleted' ? ended.data.iteration : -1
}

function figuresOf(
  db: Database.Database,
  evaluation: EvaluationConfig,
  since: number,
  closed: number,
): Figures {
  const tasks = taskRows(db, closed)
  return {
    verdict: verdictOf(tasks, evaluation),
    success: successPoints(tasks).filter(({ iteration }) => iteration >= since),
    judge: judgePoints(db, since, closed),
    growth: growthOf(db, since, closed),
    policyUpdates: updatesOf(healthRows(db), since, closed),
    times: timePoints(db, since, closed),
  }
}

export type TaskRow = {
  readonly iteration: number
  readonly purpose: string
  readonly split: string
  readonly task: string
  readonly slot: string
  readonly policyVersion: number
  readonly n: number
  readonly successes: number
  readonly failed: number
}

export function taskRows(db: Database.Database, closed: number): readonly TaskRow[] {
  return db
    .prepare(
      `SELECT iteration, purpose, split, task, slot, policy_version AS policyVersion, n, successes, failed
       FROM accuracy WHERE iteration <= ? ORDER BY iteration, purpose, split`,
    )
    .all(closed) as TaskRow[]
}

function successPoints(rows: readonly TaskRow[]): SuccessPoint[] {
  const points = new Map<string, [TaskRow, ...TaskRow[]]>()
  for (const row of rows) {
    const name = `${row.iteration} ${seriesOf(row)}`
    const own = points.get(name)
    if (own) own.push(row)
    else points.set(name, [row])
  }
  return [...points.values()].map((own) => {
    const successes = own.reduce((sum, row) => sum + row.successes, 0)
    const n = own.reduce((sum, row) => sum + row.n, 0)
    return {
      iteration: own[0].iteration,
      policyVersion: Math.max(...own.map(({ policyVersion }) => policyVersion)),
      series: seriesOf(own[0]),
      tasks: own.length,
      rollouts: n,
      failed: own.reduce((sum, row) => sum + row.failed, 0),
      share: clusteredShare(own),
      byRollout: wilson(successes, n),
    }
  })
}

export function seriesOf({ purpose, split }: Pick<TaskRow, 'purpose' | 'split'>): string {
  return purpose === 'evaluation' ? split : purpose
}

/** Says in one sentence whether the run learns: by the tasks that were measured first and last, in pairs. */
function verdictOf(rows: readonly TaskRow[], { splits }: EvaluationConfig): Overview['verdict'] {
  const split = splits.find((name) => rows.some((row) => row.purpose === 'evaluation' && row.split === name))
  if (split === undefined) return verdictOfTraining(rows)
  const own = rows.filter((row) => row.purpose === 'evaluation' && row.split === split && row.n > 0)
  const first = own.filter(({ iteration }) => iteration === own[0]?.iteration)
  const last = own.filter(({ iteration }) => iteration === own.at(-1)?.iteration)
  if (first.length === 0 || first[0]?.iteration === last[0]?.iteration)
    return {
      kind: 'open',
      text: `Not known yet: ${split} was measured ${first.length === 0 ? 'not yet' : 'once'}.`,
    }
  const pairs = first.flatMap((before) => {
    const after = last.find(({ task }) => task === before.task)
    return after ? [[shareOf(before), shareOf(after)] as const] : []
  })
  const range = `${split} went from ${percent(meanOf(first))} to ${percent(meanOf(last))}`
  return told(range, pairedDifference(pairs), `${pairs.length} tasks`)
}

/** Training tasks differ between iterations, so they are compared as two samples. */
function verdictOfTraining(rows: readonly TaskRow[]): Overview['verdict'] {
  const own = rows.filter((row) => row.purpose === 'train' && row.n > 0)
  const begun = own.at(0)?.iteration
  const ended = own.at(-1)?.iteration
  if (begun === undefined || begun === ended)
    return { kind: 'open', text: 'Not known yet: two iterations are needed.' }
  const first = clusteredShare(own.filter(({ iteration }) => iteration === begun))
  const last = clusteredShare(own.filter(({ iteration }) => iteration === ended))
  const difference = estimateDifference(last, first)
  const range = `training success went from ${percent(first.value)} to ${percent(last.value)}`
  return told(range, difference, 'other tasks each time, nothing held out')
}

function told(range: string, { value, low, high }: Estimate, of: string): Overview['verdict'] {
  const points = (share: number) => `${share > 0 ? '+' : ''}${Math.round(share * 100)}`
  const figures = `${range}, ${points(value)} points [${points(low)}, ${points(high)}] over ${of}.`
  if (low > 0) return { kind: 'better', text: `It learns: ${figures}` }
  if (high < 0) return { kind: 'worse', text: `It gets worse: ${figures}` }
  return { kind: 'open', text: `No difference can be told yet: ${figures}` }
}

export const shareOf = ({ successes, n }: TaskRow) => successes / n
const percent = (share: number) => `${Math.round(share * 100)} %`

function meanOf(rows: readonly TaskRow[]): number {
  const n = rows.reduce((sum, row) => sum + row.n, 0)
  return n === 0 ? 0 : rows.reduce((sum, row) => sum + row.successes, 0) / n
}

export function judgePoints(db: Database.Database, since: number, closed: number): JudgePoint[] {
  return qualityRows(db)
    .filter((row) => row.purpose === 'train' && row.iteration >= since && row.iteration <= closed)
    .map(({ iteration, steps, judgements, unreadable, meanVerdict, process, outcome }) => ({
      iteration,
      steps,
      judgements,
      unreadable,
      meanVerdict,
      process: process.single.balanced,
      outcome: outcome.single.balanced,
    }))
}

function growthOf(db: Database.Database, since: number, closed: number): Overview['growth'] {
  const { rows, fit } = growth(db, closed)
  const shown: GrowthPoint[] = rows.filter(({ iteration }) => iteration >= since)
  return {
    rows: shown,
    slope: fit?.slope.value ?? null,
    intercept: fit?.intercept ?? null,
    r2: fit?.r2 ?? null,
  }
}

function updatesOf(rows: readonly HealthRow[], since: number, closed: number): UpdatePoint[] {
  return rows
    .filter((row) => row.role === 'policy' && row.version >= since && row.version <= closed)
    .map(({ version, samples, stopped, metrics }) => ({ version, samples, stopped, metrics }))
}

function timePoints(db: Database.Database, since: number, closed: number): TimePoint[] {
  return throughputRows(db)
    .filter(({ iteration }) => iteration >= since && iteration <= closed)
    .map(({ iteration, seconds, rollouts, promptTokens, completionTokens, stepsScored, timing }) => ({
      iteration,
      seconds,
      rollouts,
      tokens: promptTokens + completionTokens,
      stepsScored,
      timing,
    }))
}
