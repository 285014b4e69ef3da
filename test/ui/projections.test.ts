/** The page of projections: tables and curves of a run's own file, those of a user included. */
import { execFileSync } from 'node:child_process'
import { mkdirSync, rmSync } from 'node:fs'
import Database from 'better-sqlite3'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { runFolder } from '../../src/broker/connection.ts'
import { openLogReader } from '../../src/events/log-reader.ts'
import { PROJECTIONS } from '../../src/projections/all.ts'
import { catchUp, openProjections, type Projection } from '../../src/projections/projection.ts'
import { defineTable } from '../../src/projections/table.ts'
import type { RunRow } from '../../src/ui/logic/answers.ts'
import {
  choicesOf,
  curvesOf,
  figuresOf,
  type ProjectionsPage,
  type ProjectionTable,
  timeOf,
} from '../../src/ui/logic/projection-table.ts'
import { copyRun, unpackFixture } from '../replay/fixture.ts'
import { temporaryFolder } from '../support/run.ts'
import { browse, hasBrowser, readPages } from './reading-pages.ts'

const table: ProjectionTable = {
  table: 'lengths',
  columns: ['iteration', 'kind', 'steps', 'note'],
  keys: ['iteration', 'kind'],
  rows: [
    [1, 'a', 4, 'x'],
    [1, 'b', 6, null],
    [2, 'a', 8, null],
  ],
  total: 3,
  isOfMoment: true,
}

test('a table is drawn by its time, its figures and its keys', () => {
  assert.is(timeOf(table), 'iteration')
  assert.equal(figuresOf(table), ['steps'])
  const each = choicesOf(table, () => null)
  assert.equal(each, [{ column: 'kind', values: ['a', 'b'], chosen: null }])
  assert.equal(curvesOf(table, 'steps', each), [
    {
      name: 'a',
      points: [
        { x: 1, y: 4, n: 1 },
        { x: 2, y: 8, n: 1 },
      ],
    },
    { name: 'b', points: [{ x: 1, y: 6, n: 1 }] },
  ])
  const chosen = choicesOf(table, () => 'b')
  assert.equal(
    curvesOf(table, 'steps', chosen).map(({ points }) => points.length),
    [1],
  )
  assert.equal(curvesOf(table, 'steps', [])[0].points[0], { x: 1, y: 5, n: 2 })
  assert.is(timeOf({ columns: ['task'] }), null)
})

const root = temporaryFolder()
process.env.RL_RUNS = root
/** No such file is there: pages run no code that a log names. */
const module = './nowhere/own-projection.ts'
const folder = copyRun(unpackFixture(temporaryFolder()), runFolder('run', root), {
  change: (event) =>
    event.type === 'RunStarted'
      ? {
          ...event,
          data: { ...event.data, config: { ...event.data.config, projections: { modules: [module] } } },
        }
      : event,
})
const lengths = defineTable('episode_lengths', ['iteration', 'success'], {
  iteration: 0,
  success: 0,
  steps: 0,
  note: '',
})
const own: Projection = {
  name: 'episode-lengths',
  version: 3,
  tables: [lengths],
  interests: ['TrajectoryCompleted'],
  fold: (open) => {
    const rows = open(lengths)
    return ({ type, data }) => {
      if (type !== 'TrajectoryCompleted' || data.outcome.kind !== 'scored') return
      const row = rows.row(data.iteration, Number(data.outcome.success))
      row.steps += data.steps
      row.note = '<b>own</b>'
    }
  },
}
const log = openLogReader(folder.log)
const db = new Database(folder.projections)
catchUp(openProjections(db, [...PROJECTIONS, own]), log)
db.close()
const [ended] = [...log.events({ types: ['IterationCompleted'] })].filter(({ data }) => data.iteration === 1)
log.close()

test("a user's own tables are shown without their code, and cut at a moment of the past", async () => {
  await readPages('/r/run', async ({ get, ask }) => {
    const page = await get<ProjectionsPage>('/projections')
    assert.equal(page.modules, [module])
    assert.ok(
      page.projections.some(({ name, version, isOwn }) => name === own.name && version === 3 && isOwn),
    )
    assert.is(page.tables.find((one) => one.table === 'episode_lengths')?.projection, null)
    assert.is(page.tables.find((one) => one.table === 'accuracy')?.projection, 'accuracy')
    const now = await get<ProjectionTable>('/projections/episode_lengths')
    assert.equal(now.keys, ['iteration', 'success'])
    assert.ok(now.rows.some(([iteration]) => iteration === 2))
    const then = await get<ProjectionTable>(`/projections/episode_lengths?at=${ended.position}`)
    assert.ok(then.rows.length > 0 && then.rows.every(([iteration]) => Number(iteration) <= 1))
    const missing = await ask(`/api/r/run/projections/${encodeURIComponent('a"; DROP TABLE accuracy')}`)
    assert.is(missing.status, 404)
    assert.is((await ask('/api/r/run/projections/projections')).status, 404)
  })
})

test('a file from elsewhere costs no more than its own tables', async () => {
  const foreign = copyRun(unpackFixture(temporaryFolder()), runFolder('foreign', root), {})
  const db = new Database(foreign.projections)
  db.exec(`
    CREATE TABLE "<b>a</b>" (iteration, made AS (iteration * 2), "a""b" TEXT, bytes BLOB);
    INSERT INTO "<b>a</b>" ("iteration", "a""b", bytes) VALUES (1, hex(zeroblob(1000000)), zeroblob(3000000));
    CREATE VIEW projections AS WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c)
      SELECT n AS name, 1 AS version, n AS position FROM c;
    CREATE VIEW accuracy AS SELECT * FROM projections;`)
  db.close()
  await readPages('/r/foreign', async ({ ask }) => {
    const { body } = await ask(`/api/r/foreign/projections/${encodeURIComponent('<b>a</b>')}`)
    const { columns, rows } = body as ProjectionTable
    assert.equal(columns, ['iteration', 'a"b', 'bytes'])
    assert.equal(rows, [[1, '0'.repeat(400), '(3000000 bytes)']])
    assert.equal(((await ask('/api/r/foreign/projections')).body as ProjectionsPage).projections, [])
    assert.is((await ask('/api/r/foreign/overview')).status, 200)
  })
})

if (process.platform !== 'win32')
  test('a pipe in the place of a log is told, and holds nothing up', async () => {
    const { folder: pipe, log } = runFolder('pipe', root)
    mkdirSync(pipe)
    execFileSync('mkfifo', [log])
    await readPages('/', async ({ ask }) => {
      const rows = (await ask('/api/runs')).body as readonly RunRow[]
      const row = rows.find(({ run }) => run === 'pipe')
      assert.is(row?.state, 'unreadable')
      assert.match(row?.reason ?? '', 'it is a pipe')
    })
    rmSync(pipe, { recursive: true })
  })

if (hasBrowser())
  test('a table of a user comes first, with its curve', async () => {
    await readPages('/r/run/projections', async (reading) => {
      await browse(reading, async (page) => {
        await page.getByRole('heading', { name: 'episode_lengths' }).waitFor()
        await page.getByRole('img', { name: /episode_lengths: steps/ }).waitFor()
        await page.getByText('<b>own</b>').first().waitFor()
        await page.getByRole('link', { name: 'training_health' }).click()
        await page.getByLabel('metric').selectOption('kl')
        await page.getByRole('img', { name: /training_health: value/ }).waitFor()
      })
    })
  })

if (hasBrowser())
  test('names of tables, columns and rows show their control characters', async () => {
    const named = copyRun(unpackFixture(temporaryFolder()), runFolder('named', root), {})
    const db = new Database(named.projections)
    db.exec(`CREATE TABLE "t\u202e\u001b" (iteration, "k\u2066" TEXT, "v\u0007" REAL, PRIMARY KEY (iteration, "k\u2066"));
      INSERT INTO "t\u202e\u001b" VALUES (1, 'a\u202e', 2), (2, 'a\u202e', 3)`)
    db.close()
    await readPages('/r/named/projections', async (reading) => {
      await browse(reading, async (page) => {
        await page.getByRole('heading', { name: 't␛202e␛001b' }).waitFor()
        await page.getByRole('img', { name: /t␛202e␛001b: v␛0007/ }).waitFor()
        const raw = await page.evaluate(`(() => {
          const named = [...document.querySelectorAll('[aria-label]')].map((one) => one.getAttribute('aria-label'))
          return [document.body.textContent, ...named].filter((text) => /[\\u202e\\u2066\\u001b\\u0007]/.test(text))
        })()`)
        assert.equal(raw, [])
      })
    })
  })

test.run()
