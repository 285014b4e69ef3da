/** SQL over a run: its tables agree with the log, and a statement can do nothing but read. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { openLogReader } from '../../src/events/log-reader.ts'
import { trajectoryRows } from '../../src/replay/export.ts'
import { askRun } from '../../src/replay/sql.ts'
import { SQL_TABLES, tablesIn } from '../../src/replay/sql-tables.ts'
import { errorOf } from '../support/error-of.ts'
import { startProcess, startProgram } from '../support/processes.ts'
import { temporaryFolder } from '../support/run.ts'
import { unpackFixture } from './fixture.ts'

const root = temporaryFolder()
const log = openLogReader(unpackFixture(root).log)

function ask(statement: string): unknown[][] {
  const answer = askRun(log, statement)
  try {
    return [...answer.rows].map((row) => [...row])
  } finally {
    answer.close()
  }
}

test('trajectories and steps are those of an export', () => {
  const rows = [...trajectoryRows(log)]
  const sum = (values: Iterable<number | null>) =>
    [...values].reduce<number>((all, one) => all + (one ?? 0), 0)
  assert.equal(ask('select count(*), sum(steps), sum(success) from trajectories'), [
    [rows.length, sum(rows.map((row) => row.steps)), sum(rows.map((row) => Number(row.success ?? 0)))],
  ])
  const [[steps, advantages]] = ask('select count(*), total(abs(advantage)) from steps') as [[number, number]]
  assert.is(steps, sum(rows.map((row) => row.steps)))
  const expected = sum(rows.flatMap((row) => (row.advantages ?? []).map(Math.abs)))
  assert.ok(Math.abs(advantages - expected) < 1e-6)
  assert.ok(expected > 0)
  const [one] = rows
  const found = ask(`select action from steps where rollout = '${one?.rollout}' order by step`)
  assert.equal(found.flat(), one?.actions)
  assert.equal(ask(`select json_extract(seed, '$[0]') from trajectories limit 1`), [[one?.seed[0]]])
})

test('iterations, judgements and tasks are those of the log', () => {
  const scored = [...log.events({ types: ['StepScored'] })]
  const votes = scored.reduce((all, { data }) => all + data.judgements.length, 0)
  assert.equal(ask('select count(*), count(distinct rollout || step) from judgements'), [
    [votes, scored.length],
  ])
  const last = log.newest(['IterationCompleted'])
  if (last?.type !== 'IterationCompleted') throw new Error('no iteration')
  const { iteration, accuracy } = last.data
  assert.equal(
    ask('select iteration, successes, rollouts, accuracy from iterations order by iteration desc limit 1'),
    [[iteration, accuracy.successes, accuracy.n, accuracy.successes / accuracy.n]],
  )
  assert.equal(ask(`select count(*) from tasks where status = 'added'`), [[log.countOf('TaskAdded')]])
  assert.equal(ask(`select count(*) from tasks where status = 'accepted'`), [[log.countOf('TaskAccepted')]])
  const joined = ask(
    'select count(*) from steps join trajectories using (rollout) join tasks on tasks.task = trajectories.task',
  )
  assert.ok(Number(joined[0]?.[0]) > 0)
})

test('each table has the columns that are told, and only named ones are filled', () => {
  for (const [name, { columns }] of Object.entries(SQL_TABLES)) {
    const answer = askRun(log, `select * from ${name}`)
    assert.equal(answer.columns, Object.keys(columns))
    assert.ok([...answer.rows].length > 0)
    answer.close()
  }
  assert.equal(tablesIn('SELECT * FROM Steps -- and mytasks'), ['steps'])
})

test('a statement that does more than read is refused', async () => {
  const file = `${root}/stolen.db`
  for (const statement of [
    'delete from tasks',
    'drop table tasks',
    'pragma journal_mode = wal',
    `attach '${file}' as other`,
    `vacuum into '${file}'`,
    'select 1; select 2',
    'with x as (select 1) delete from tasks',
    'with x as (select 1) insert into tasks (task) select * from x',
    `select load_extension('libm.so.6')`,
    'select missing_there from steps',
    '',
  ]) {
    const { code, hint } = await errorOf((async () => ask(statement))())
    assert.is(code, 'sql.statement', statement)
    assert.match(hint ?? '', 'judgements')
  }
})

const rl = (...words: string[]) => startProcess(['src/rl.ts', 'sql', 'run', ...words], { RL_RUNS: root })

test('rl sql prints tables, CSV and JSON', async () => {
  const statement = `select 'a "b", c' as text, 1.5 as number, null as missing, x'0aff' as bytes`
  const [table, csv, json] = [
    rl(statement),
    rl(statement, '--format', 'csv'),
    rl(statement, '--format', 'json'),
  ]
  assert.is(await table.status, 0)
  assert.match(table.output(), /^text +number +missing +bytes\n/)
  assert.is(await csv.status, 0)
  assert.is(csv.output(), 'text,number,missing,bytes\n"a ""b"", c",1.5,,0aff\n')
  assert.is(await json.status, 0)
  assert.equal(JSON.parse(json.output()), { text: 'a "b", c', number: 1.5, missing: null, bytes: '0aff' })
})

test('columns of one name are refused as JSON, since one of their values would be lost', async () => {
  const twice = rl('select 1 as a, 2 as a', '--format', 'json')
  assert.is(await twice.status, 1)
  assert.match(twice.output(), "'a'")
  const csv = rl('select 1 as a, 2 as a', '--format', 'csv')
  assert.is(await csv.status, 0)
})

test('a text of the log does not steer a terminal, and a file has it as it is', async () => {
  const steering = `select char(27) || '[2J' as text, char(155) || '1' as other`
  for (const format of ['csv', 'json', 'table']) {
    const words = [process.execPath, 'src/rl.ts', 'sql', 'run', `"${steering}"`, '--format', format]
    const shown = startProgram('script', ['-qec', words.join(' '), '/dev/null'], { RL_RUNS: root })
    assert.is(await shown.status, 0)
    assert.match(shown.output(), '001b[2J')
    assert.not.match(shown.output(), '\u001b')
    assert.not.match(shown.output(), '\u009b')
  }
  const file = rl(steering, '--format', 'csv')
  assert.is(await file.status, 0)
  assert.is(file.output(), 'text,other\n\u001b[2J,\u009b1\n')
})

test('a statement may begin with a comment', () => {
  assert.equal(ask('-- how many\n/* of all */ select count(*) > 0 from tasks'), [[1]])
})

test('rl sql prints rows as they are found, and a statement without end is ended', async () => {
  const endless = 'with recursive a(x) as (select 1 union all select x + 1 from a)'
  const many = rl(`${endless} select x from a limit 100000`, '--format', 'csv')
  assert.is(await many.status, 0)
  assert.is(many.output().trim().split('\n').length, 100_001)
  const stuck = rl(`${endless} select max(x) from a`, '--timeout', '0.5')
  assert.is(await stuck.status, null)
  assert.match(stuck.output(), 'took more than 0.5 s')
})

test.run()
