/** Views of the projections for people and tools: plain rows, summed by SQL. */
import type { Database } from 'better-sqlite3'
import { linearFit } from '../learning/linear-fit.ts'

/** Unit of n: rollouts with an outcome. */
export type AccuracyRow = {
  readonly iteration: number
  readonly purpose: string
  readonly split: string
  readonly policyVersion: number
  readonly tasks: number
  readonly n: number
  readonly successes: number
  /** Number of rollouts without an outcome: failed ones, and ones whose environment could not tell. `EvaluationCompleted.failed` counts both. */
  readonly failed: number
  readonly abstained: number
  readonly meanSteps: number | null
}

export function accuracyRows(db: Database): AccuracyRow[] {
  return db
    .prepare(
      `SELECT iteration, purpose, split, max(policy_version) AS policyVersion, count(*) AS tasks, sum(n) AS n,
              sum(successes) AS successes, sum(failed) AS failed, sum(abstained) AS abstained,
              1.0 * sum(steps) / nullif(sum(n), 0) AS meanSteps
       FROM accuracy GROUP BY iteration, purpose, split ORDER BY iteration, purpose, split`,
    )
    .all() as AccuracyRow[]
}

/** Held-out success by kind of task, e.g. a page of MiniWoB++, at one evaluation. Unit of n: rollouts with an outcome. */
export type KindRow = {
  readonly split: string
  readonly kind: string
  readonly iteration: number
  readonly policyVersion: number
  readonly n: number
  readonly successes: number
  /** Number of rollouts without an outcome, as in `AccuracyRow`. */
  readonly failed: number
  readonly abstained: number
}

export function kindRows(db: Database): KindRow[] {
  return db
    .prepare(
      `SELECT split, kind, iteration, max(policy_version) AS policyVersion, sum(n) AS n, sum(successes) AS successes,
              sum(failed) AS failed, sum(abstained) AS abstained
       FROM (SELECT iteration, policy_version, split, n, successes, failed, abstained,
                    (SELECT kind FROM lineage WHERE lineage.split = accuracy.split AND lineage.task = accuracy.task) AS kind
             FROM accuracy WHERE purpose = 'evaluation')
       GROUP BY split, kind, iteration ORDER BY split, kind, iteration`,
    )
    .all() as KindRow[]
}

type Hits = { readonly right: number; readonly n: number }

/** Accuracy of verdicts against a label: over all, and balanced (the mean of the shares among good and among bad labels). */
export type Agreement = Hits & { readonly balanced: number | null }

export type QualityRow = {
  readonly iteration: number
  readonly purpose: string
  readonly rewardModelVersion: number
  readonly steps: number
  readonly judgements: number
  readonly unreadable: number
  /** Mean verdict in [-1, 1], over all judgements. */
  readonly meanVerdict: number
  /** Accuracy against true progress. Unit of n: judgements, and steps for the majority. */
  readonly process: { readonly single: Agreement; readonly majority: Agreement }
  /** Accuracy against the trajectory's outcome. */
  readonly outcome: { readonly single: Agreement; readonly majority: Agreement }
}

export function qualityRows(db: Database): QualityRow[] {
  const rows = db
    .prepare('SELECT * FROM reward_quality ORDER BY iteration, purpose, reward_model_version')
    .all() as Record<string, number>[]
  return rows.map((row) => {
    const count = (column: string): number => row[column] ?? 0
    const agreement = (name: string): Agreement => {
      const [good, bad] = [count(`${name}_good`), count(`${name}_bad`)]
      const [goodRight, badRight] = [count(`${name}_good_right`), count(`${name}_bad_right`)]
      const balanced = good > 0 && bad > 0 ? (goodRight / good + badRight / bad) / 2 : null
      return { right: goodRight + badRight, n: good + bad, balanced }
    }
    return {
      iteration: count('iteration'),
      purpose: String(row.purpose),
      rewardModelVersion: count('reward_model_version'),
      steps: count('steps'),
      judgements: count('judgements'),
      unreadable: count('unreadable'),
      meanVerdict: count('judgements') === 0 ? 0 : count('score_sum') / count('judgements'),
      process: { single: agreement('process'), majority: agreement('process_majority') },
      outcome: { single: agreement('outcome'), majority: agreement('outcome_majority') },
    }
  })
}

type GrowthRow = {
  readonly iteration: number
  readonly proposed: number
  readonly refused: number
  readonly accepted: number
  readonly acceptedHarder: number
  readonly rejected: number
  /** Number of all accepted tasks up to this iteration. */
  readonly acceptedSoFar: number
}

/**
 * The curve of accepted tasks and its straight line (tasks an iteration).
 *
 * @param until last iteration that counts
 */
export function growth(db: Database, until = Number.MAX_SAFE_INTEGER) {
  const rows = db
    .prepare(
      `SELECT iteration, proposed, refused, accepted, accepted_harder AS acceptedHarder, rejected,
              sum(accepted) OVER (ORDER BY iteration) AS acceptedSoFar FROM task_growth WHERE iteration <= ? ORDER BY iteration`,
    )
    .all(until) as GrowthRow[]
  return { rows, fit: linearFit(rows.map(({ iteration, acceptedSoFar }) => [iteration, acceptedSoFar])) }
}

export type ThroughputRow = {
  readonly iteration: number
  /** From start to completion. Null while open. */
  readonly seconds: number | null
  readonly rollouts: number
  readonly rolloutsPerSecond: number | null
  readonly promptTokens: number
  readonly cachedTokens: number
  readonly completionTokens: number
  readonly stepsScored: number
  /** Sums of measured figures, e.g. `PolicyUpdated.seconds`. */
  readonly timing: Readonly<Record<string, number>>
}

export function throughputRows(db: Database): ThroughputRow[] {
  const timings = db
    .prepare('SELECT iteration, event, figure, sum FROM throughput_timing ORDER BY iteration, event, figure')
    .all() as { iteration: number; event: string; figure: string; sum: number }[]
  const rows = db
    .prepare(
      `SELECT iteration, CASE WHEN completed_ms > 0 AND started_ms > 0 THEN (completed_ms - started_ms) / 1000.0 END AS seconds, rollouts,
              1000.0 * rollouts / nullif(max(last_rollout_ms - CASE WHEN started_ms > 0 THEN started_ms ELSE first_rollout_ms END, 0), 0) AS rolloutsPerSecond,
              prompt_tokens AS promptTokens, cached_tokens AS cachedTokens, completion_tokens AS completionTokens, steps_scored AS stepsScored
       FROM throughput ORDER BY iteration`,
    )
    .all() as Omit<ThroughputRow, 'timing'>[]
  return rows.map((row) => ({
    ...row,
    timing: Object.fromEntries(
      timings
        .filter(({ iteration }) => iteration === row.iteration)
        .map(({ event, figure, sum }) => [`${event}.${figure}`, sum]),
    ),
  }))
}

export type LineageRow = {
  readonly slot: string
  readonly iteration: number
  readonly task: string | null
  readonly parent: string | null
  readonly direction: string | null
  readonly status: string
  readonly reason: string | null
  readonly successes: number | null
  readonly n: number | null
  readonly parentSuccesses: number | null
  readonly parentN: number | null
}

/** Returns every proposal and refusal, in order of iteration. */
export function lineageRows(db: Database): LineageRow[] {
  return db
    .prepare(
      `SELECT slot, iteration, task, parent, direction, status, reason, successes, n, parent_successes AS parentSuccesses, parent_n AS parentN
       FROM lineage WHERE iteration > 0 ORDER BY iteration, slot`,
    )
    .all() as LineageRow[]
}

export type HealthRow = {
  readonly role: string
  readonly version: number
  readonly rollouts: number
  readonly samples: number
  readonly stopped: string | null
  readonly metrics: Readonly<Record<string, number>>
}

export function healthRows(db: Database): HealthRow[] {
  const metrics = db
    .prepare('SELECT role, version, metric, value FROM training_health ORDER BY role, version, metric')
    .all() as { role: string; version: number; metric: string; value: number }[]
  const rows = db
    .prepare('SELECT role, version, rollouts, samples, stopped FROM model_updates ORDER BY role, version')
    .all() as Omit<HealthRow, 'metrics'>[]
  const byUpdate = new Map<string, Record<string, number>>()
  for (const { role, version, metric, value } of metrics) {
    const figures = byUpdate.get(`${role}/${version}`) ?? {}
    figures[metric] = value
    byUpdate.set(`${role}/${version}`, figures)
  }
  return rows.map((row) => ({ ...row, metrics: byUpdate.get(`${row.role}/${row.version}`) ?? {} }))
}

/** A share is null if it is over nothing. */
export type UnitTestRow = {
  readonly iteration: number
  readonly purpose: string
  readonly split: string
  readonly tasks: number
  /** Mean over tasks of the share of programs that pass all of the task's own tests (Code). */
  readonly code: number | null
  /** Share of unit tests that all right programs pass, over tasks with a right program (UT). */
  readonly unitTest: number | null
  /** Share of unit tests that all right programs pass and all wrong ones fail, over tasks with both (Detect). */
  readonly detect: number | null
  /** Share of tasks whose program with the most passed unit tests is right, over tasks with a readable test. */
  readonly bestOfN: number | null
  /** The three figures over tests with an input that their task does not show. */
  readonly novelUnitTest: number | null
  readonly novelDetect: number | null
  readonly novelBestOfN: number | null
  readonly novelTests: number
  /** Number of programs with another end in a second run. */
  readonly flaky: number
  readonly unitTestTasks: number
  readonly detectTasks: number
  readonly tests: number
  readonly invalidTests: number
}

/** Returns Code, UT, Detect and best of N. */
export function unitTestRows(db: Database): UnitTestRow[] {
  const right = 'right > 0 AND tests > 0'
  const both = `${right} AND right < programs`
  return db
    .prepare(
      `SELECT iteration, purpose, split, count(*) AS tasks, avg(1.0 * right / programs) AS code,
              1.0 * sum(right_tests) FILTER (WHERE ${right}) / sum(tests) FILTER (WHERE ${right}) AS unitTest,
              1.0 * sum(perfect_tests) FILTER (WHERE ${both}) / sum(tests) FILTER (WHERE ${both}) AS detect,
              avg(1.0 * best_right) FILTER (WHERE tests > invalid_tests) AS bestOfN,
              1.0 * sum(novel_right_tests) FILTER (WHERE ${right}) / sum(novel_tests) FILTER (WHERE ${right}) AS novelUnitTest,
              1.0 * sum(novel_perfect_tests) FILTER (WHERE ${both}) / sum(novel_tests) FILTER (WHERE ${both}) AS novelDetect,
              avg(1.0 * novel_best_right) FILTER (WHERE novel_tests > 0) AS novelBestOfN,
              sum(novel_tests) AS novelTests, sum(flaky) AS flaky,
              count(*) FILTER (WHERE ${right}) AS unitTestTasks, count(*) FILTER (WHERE ${both}) AS detectTasks,
              sum(tests) AS tests, sum(invalid_tests) AS invalidTests
       FROM tested_tasks WHERE programs > 0 GROUP BY iteration, purpose, split ORDER BY iteration, purpose, split`,
    )
    .all() as UnitTestRow[]
}
