/** Overview of a run: whether it learns, its curves, what it does now, and what stands out. */
import type Database from 'better-sqlite3'
import type { Config } from '../../config.ts'
import {
  clusteredShare,
  type Estimate,
  estimateDifference,
  pairedDifference,
  wilson,
} from '../../learning/interval.ts'
import { growth, type HealthRow, healthRows, qualityRows, throughputRows } from '../../projections/views.ts'
import { configAt } from '../../replay/config-at.ts'
import type {
  GrowthPoint,
  JudgePoint,
  Overview,
  SuccessPoint,
  TimePoint,
  UpdatePoint,
} from '../logic/answers.ts'
import { notable } from './notable.ts'
import { doingNow } from './now.ts'
import type { OpenRun } from './open-runs.ts'

/** @param since first iteration whose rows are wanted */
export function overview(run: OpenRun, at: number, since = 0): Overview {
  const { log } = run
  const config = configAt(log, at)
  const ended = log.newest(['IterationCompleted'], at)
  const closed = ended?.type === 'IterationCompleted' ? ended.data.iteration : -1
  const folded = run.figures.read()
  return {
    closed,
    complete: ended === null || (folded !== null && folded.position >= ended.position),
    ...(folded === null ? NOTHING : figuresOf(folded.db, config, since, closed)),
    now: doingNow(log, config, at),
    notable: notable(log, at),
  }
}

type Figures = Omit<Overview, 'closed' | 'complete' | 'now' | 'notable'>

/** Shown until figures are folded. */
const NOTHING: Figures = {
  verdict: verdictOfTraining([]),
  success: [],
  judge: [],
  growth: { rows: [], slope: null, intercept: null, r2: null },
  policyUpdates: [],
  rewardUpdates: [],
  times: [],
}

function figuresOf(db: Database.Database, config: Config, since: number, closed: number): Figures {
  const tasks = taskRows(db, closed)
  const updates = healthRows(db)
  return {
    verdict: verdictOf(tasks, config),
    success: successPoints(tasks).filter(({ iteration }) => iteration >= since),
    judge: judgePoints(db, since, closed),
    growth: growthOf(db, since, closed),
    policyUpdates: updatesOf(updates, 'policy', since, closed),
    rewardUpdates: updatesOf(updates, 'reward-model', since, closed),
    times: timePoints(db, since, closed),
  }
}

type TaskRow = {
  readonly iteration: number
  readonly purpose: string
  readonly split: string
  readonly task: string
  readonly policyVersion: number
  readonly n: number
  readonly successes: number
  readonly failed: number
}

function taskRows(db: Database.Database, closed: number): readonly TaskRow[] {
  return db
    .prepare(
      `SELECT iteration, purpose, split, task, policy_version AS policyVersion, n, successes, failed
       FROM accuracy WHERE iteration <= ? ORDER BY iteration, purpose, split`,
    )
    .all(closed) as TaskRow[]
}

function successPoints(rows: readonly TaskRow[]): SuccessPoint[] {
  const points = new Map<string, TaskRow[]>()
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

function seriesOf({ purpose, split }: TaskRow): string {
  return purpose === 'evaluation' ? split : purpose
}

/** Says in one sentence whether the run learns: by the tasks that were measured first and last, in pairs. */
function verdictOf(rows: readonly TaskRow[], config: Config): Overview['verdict'] {
  const split = config.evaluation.splits.find((name) =>
    rows.some((row) => row.purpose === 'evaluation' && row.split === name),
  )
  if (split === undefined) return verdictOfTraining(rows)
  const own = rows.filter((row) => row.purpose === 'evaluation' && row.split === split && row.n > 0)
  const first = own.filter(({ iteration }) => iteration === own[0]?.iteration)
  const last = own.filter(({ iteration }) => iteration === own.at(-1)?.iteration)
  if (first.length === 0 || first[0].iteration === last[0].iteration)
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

const shareOf = ({ successes, n }: TaskRow) => successes / n
const percent = (share: number) => `${Math.round(share * 100)} %`

function meanOf(rows: readonly TaskRow[]): number {
  const n = rows.reduce((sum, row) => sum + row.n, 0)
  return n === 0 ? 0 : rows.reduce((sum, row) => sum + row.successes, 0) / n
}

function judgePoints(db: Database.Database, since: number, closed: number): JudgePoint[] {
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

function updatesOf(rows: readonly HealthRow[], role: string, since: number, closed: number): UpdatePoint[] {
  return rows
    .filter((row) => row.role === role && row.version >= since && row.version <= closed)
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
