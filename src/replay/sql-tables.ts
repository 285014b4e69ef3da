/** A run as tables for SQL: iterations, trajectories, steps, judgements and tasks. */
import type Database from 'better-sqlite3'
import type { LogReader } from '../events/log-reader.ts'
import { trajectoryRows } from './export.ts'
import { COLUMNS, type TrajectoryRow } from './trajectory-row.ts'

/** `json`: any value, as text in JSON. Functions of SQLite such as `json_extract` read it. */
export type SqlType = 'integer' | 'real' | 'text' | 'json'
type Cell = string | number | null
type Row = readonly Cell[]

export type SqlTable = {
  readonly summary: string
  /** Types by name. */
  readonly columns: Readonly<Record<string, SqlType>>
  /** Columns by which rows are found fast. */
  readonly index: readonly string[]
}

const KINDS = {
  text: 'text',
  int: 'integer',
  double: 'real',
  float: 'real',
  flag: 'integer',
  json: 'json',
} as const

/** Columns of an export that are one value, and no copy of what another table has. */
const WHOLE = Object.entries(COLUMNS).flatMap(([name, { kind, shape }]) =>
  shape === 'one' &&
  !['votes', 'critiques', 'probabilities', 'progress', 'judge_versions', 'judged'].includes(name)
    ? [[name, KINDS[kind]] as const]
    : [],
)

export const SQL_TABLES = {
  iterations: {
    summary: 'an iteration, once it is planned',
    columns: {
      iteration: 'integer',
      policy_version: 'integer',
      reward_model_version: 'integer',
      groups: 'integer',
      successes: 'integer',
      rollouts: 'integer',
      accuracy: 'real',
      started: 'real',
      ended: 'real',
      metrics: 'json',
    },
    index: ['iteration'],
  },
  trajectories: {
    summary: 'a trajectory, as rl export has it',
    columns: Object.fromEntries<SqlType>(WHOLE),
    index: ['rollout'],
  },
  steps: {
    summary: 'a step of a trajectory: the observation before the action, and what was made of it',
    columns: {
      rollout: 'text',
      step: 'integer',
      observation: 'text',
      action: 'text',
      reasoning: 'text',
      invalid: 'integer',
      failed: 'integer',
      entropy: 'real',
      base_logprob: 'real',
      role: 'text',
      score: 'real',
      advantage: 'real',
      probability: 'real',
      progress: 'real',
    },
    index: ['rollout', 'step'],
  },
  judgements: {
    summary: 'a vote on a step, with its critique',
    columns: {
      rollout: 'text',
      iteration: 'integer',
      step: 'integer',
      judgement: 'integer',
      vote: 'integer',
      critique: 'text',
      reward_model_version: 'integer',
    },
    index: ['rollout', 'step'],
  },
  tasks: {
    summary: 'a task that was added, proposed, accepted or rejected; the last two have how it was decided',
    columns: {
      task: 'text',
      slot: 'text',
      split: 'text',
      iteration: 'integer',
      status: 'text',
      direction: 'text',
      parent: 'text',
      environment: 'text',
      kind: 'text',
      goal: 'text',
      recipe: 'json',
      successes: 'integer',
      rollouts: 'integer',
      reason: 'text',
    },
    index: ['task'],
  },
} as const satisfies Readonly<Record<string, SqlTable>>

export type SqlName = keyof typeof SQL_TABLES

/** Returns the tables whose names stand in a statement. */
export function tablesIn(statement: string): readonly SqlName[] {
  const words = new Set(statement.toLowerCase().match(/\w+/g))
  return (Object.keys(SQL_TABLES) as SqlName[]).filter((name) => words.has(name))
}

/** Makes all tables, and fills those that are named. */
export function fillTables(db: Database.Database, log: LogReader, named: readonly SqlName[]): void {
  for (const [name, { columns }] of Object.entries<SqlTable>(SQL_TABLES)) {
    const typed = Object.entries(columns).map(
      ([column, type]) => `"${column}" ${type === 'json' ? 'text' : type}`,
    )
    db.exec(`create table ${name} (${typed.join(', ')})`)
  }
  const insertInto = (name: SqlName) => {
    const places = Object.keys(SQL_TABLES[name].columns).map(() => '?')
    const statement = db.prepare(`insert into ${name} values (${places.join(', ')})`)
    return (row: Row) => void (named.includes(name) && statement.run(...row))
  }
  db.transaction(() => {
    if (named.includes('iterations')) fill(iterations(log), insertInto('iterations'))
    if (named.includes('tasks')) fill(tasks(log), insertInto('tasks'))
    if (named.includes('judgements')) fill(judgements(log), insertInto('judgements'))
    if (!named.includes('trajectories') && !named.includes('steps')) return
    const [trajectory, step] = [insertInto('trajectories'), insertInto('steps')]
    for (const row of trajectoryRows(log)) {
      trajectory(WHOLE.map(([name, type]) => cellOf(row[name as keyof TrajectoryRow], type)))
      fill(stepsOf(row), step)
    }
  })()
  for (const name of named)
    db.exec(`create index ${name}_index on ${name} (${SQL_TABLES[name].index.join(', ')})`)
}

function fill(rows: Iterable<Row>, insert: (row: Row) => void): void {
  for (const row of rows) insert(row)
}

function cellOf(value: unknown, type: SqlType): Cell {
  if (value === null || value === undefined) return null
  if (type === 'json') return JSON.stringify(value)
  if (typeof value === 'boolean') return Number(value)
  return typeof value === 'number' || typeof value === 'string' ? value : String(value)
}

function* iterations(log: LogReader): Generator<Row> {
  const types = ['IterationStarted', 'IterationPlanned', 'IterationCompleted'] as const
  type Open = { policy: Cell; judge: Cell; groups: Cell; started: Cell }
  const open = new Map<number, Open>()
  for (const event of log.events({ types })) {
    const { iteration } = event.data
    const one = open.get(iteration) ?? { policy: null, judge: null, groups: null, started: null }
    open.set(iteration, one)
    if (event.type === 'IterationStarted') {
      one.policy = event.data.policyVersion
      one.judge = event.data.rewardModelVersion
      one.started = event.time
    } else if (event.type === 'IterationPlanned')
      one.groups = event.data.groups.filter(({ reserve }) => !reserve).length
    else {
      const { accuracy, metrics } = event.data
      // Some of the plan's reserve may have been drawn.
      const { tasks, candidates } = metrics
      if (tasks !== undefined && candidates !== undefined) one.groups = tasks + candidates
      const share = accuracy.n === 0 ? null : accuracy.successes / accuracy.n
      open.delete(iteration)
      yield [
        ...[iteration, one.policy, one.judge, one.groups, accuracy.successes, accuracy.n, share],
        ...[one.started, event.time, JSON.stringify(metrics)],
      ]
    }
  }
  for (const [iteration, { policy, judge, groups, started }] of open)
    yield [iteration, policy, judge, groups, null, null, null, started, null, null]
}

function* tasks(log: LogReader): Generator<Row> {
  for (const event of log.events({ types: ['TaskAdded', 'TaskProposed', 'TaskAccepted', 'TaskRejected'] })) {
    if (event.type === 'TaskAdded' || event.type === 'TaskProposed') {
      const { id, environment, kind, goal, recipe } = event.data.task
      const told = [environment, kind, goal, JSON.stringify(recipe), null, null, null]
      const { slot } = event.data
      if (event.type === 'TaskAdded') yield [id, slot, event.data.split, null, 'added', null, null, ...told]
      else {
        const { iteration, direction, parent } = event.data
        yield [id, slot, 'train', iteration, 'proposed', direction, parent, ...told]
      }
    } else {
      const { task, slot, iteration, direction, parent, accuracy, reason } = event.data
      const status = event.type === 'TaskAccepted' ? 'accepted' : 'rejected'
      const decided = [null, null, null, null, accuracy.successes, accuracy.n, reason]
      yield [task, slot, 'train', iteration, status, direction, parent, ...decided]
    }
  }
}

function* judgements(log: LogReader): Generator<Row> {
  for (const { data } of log.events({ types: ['StepScored'] }))
    for (const [at, { score, critique }] of data.judgements.entries())
      yield [data.rollout, data.iteration, data.step, at, score, critique, data.rewardModelVersion]
}

function* stepsOf(row: TrajectoryRow): Generator<Row> {
  for (let step = 0; step < row.steps; step++)
    yield [
      ...[row.rollout, step, row.observations[step] ?? null, row.actions[step] ?? null],
      ...[row.reasoning?.[step] ?? null, row.invalid_steps?.[step] ?? null, row.failed_steps?.[step] ?? null],
      ...[row.entropies?.[step] ?? null, row.base_logprobs?.[step] ?? null, row.roles?.[step] ?? null],
      ...[row.scores?.[step] ?? null, row.advantages?.[step] ?? null],
      ...[row.probabilities?.[step] ?? null, row.progress?.[step] ?? null],
    ]
}
