/** What `rl projections` prints for people, and for tools. */
import { spawnSync } from 'node:child_process'
import Database from 'better-sqlite3'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { VIEWS, type View, viewText } from '../../src/cli/projection-tables.ts'
import { table } from '../../src/cli/table.ts'
import { PROJECTIONS } from '../../src/projections/all.ts'
import { openProjections } from '../../src/projections/projection.ts'
import { playLoop, smallConfig } from '../actors/loop.ts'
import { unpackFixture } from '../replay/fixture.ts'
import { temporaryFolder } from '../support/run.ts'

const root = temporaryFolder()
unpackFixture(root)

function projections(...words: readonly string[]): string {
  const args = ['src/rl.ts', 'projections', 'run', ...words]
  const { status, stdout, stderr } = spawnSync(process.execPath, args, {
    encoding: 'utf8',
    env: { ...process.env, RL_RUNS: root },
  })
  assert.is(status, 0, stderr)
  return stdout
}

const widest = (text: string) => Math.max(...text.split('\n').map((line) => line.length))
const rowsOf = (view: View): readonly unknown[] =>
  JSON.parse(projections('show', view, '--json')).rows as unknown[]

test('without a name each view is shown in short, and how to see more is said once', () => {
  const text = projections('show')
  assert.ok(widest(text) <= 100, text)
  for (const view of Object.keys(VIEWS)) assert.match(text, new RegExp(`^${view}: `, 'm'))
  assert.match(text, `accuracy: the last 3 of ${rowsOf('accuracy').length} rows\n`)
  assert.match(text, /^unit-tests: no rows$/m)
  assert.match(
    text,
    /\nmore of one: rl projections run show VIEW\nall of it: rl projections run show --all\n$/,
  )
})

test('a view that is named shows its last rows, what is left out, and how to get it', () => {
  const text = projections('show', 'accuracy', 'training-health', 'lineage')
  assert.ok(widest(text) <= 100, text)
  assert.match(text, /^accuracy\nin-domain +[▁-█]+ +[01]\.\d{3} -> [01]\.\d{3}\n/)
  const rows = rowsOf('accuracy').length
  assert.match(text, `\n${rows} rows; all columns: rl projections run show accuracy --all\n`)
  const health = text.slice(text.indexOf('\ntraining-health'), text.indexOf('\nlineage'))
  const versions = [...health.matchAll(/^(?:policy|reward-model) +(\d+)/gm)].map(([, version]) => +version)
  assert.equal(
    versions,
    versions.toSorted((a, b) => a - b),
  )
})

test('all of it, and all for tools, has every row and every figure', () => {
  const all = projections('show', 'training-health', '--all')
  const [row] = rowsOf('training-health').slice(-1) as { metrics: Record<string, number> }[]
  for (const name of Object.keys(row.metrics)) assert.match(all, name)
  assert.match(all, new RegExp(`^${rowsOf('training-health').length} rows$`, 'm'))
  const views = projections('show', '--json').trim().split('\n')
  assert.equal(
    views.map((line) => JSON.parse(line).view),
    Object.keys(VIEWS),
  )
})

test('of a long run the last rows are shown, and a curve ends before the open iteration', () => {
  const config = smallConfig({
    run: { iterations: 30, evaluateEvery: 1 },
    evaluation: { splits: ['in-domain', 'ood'], tasks: 2, judge: true },
    simulation: { steps: 3, failureShare: 0.1, judgeAccuracy: 0.75 },
  })
  const { log } = playLoop({ config })
  const db = new Database(':memory:')
  openProjections(db, PROJECTIONS).apply(log)
  for (const view of Object.keys(VIEWS) as View[]) {
    const { text, shown, rows } = viewText(db, view, 20)
    assert.ok(widest(text) <= 100, text)
    assert.is(shown, Math.min(20, rows))
    assert.is(viewText(db, view, null).shown, rows)
  }
  const { text, rows } = viewText(db, 'accuracy', 20)
  assert.ok(rows > 60)
  assert.match(text.split('\n').at(-1)!, /^30 /)
  assert.match(text, /^training +[▁-█]{30} /m)
  const open = new Database(':memory:')
  openProjections(open, PROJECTIONS).apply(
    log.slice(
      0,
      log.findLastIndex(({ type }) => type === 'IterationCompleted'),
    ),
  )
  assert.match(viewText(open, 'accuracy', 20).text, /^training +[▁-█]{29} /m)
})

test('long cells are cut to fit, numbers are not, and what cannot fit stays whole', () => {
  const head = ['n', 'reason']
  const fits = table(head, [[1, 'short']], 20)
  assert.equal(fits, { text: 'n  reason\n1  short', cut: false })
  const cut = table(head, [[12_345, 'x'.repeat(50)]], 30)
  assert.equal(cut, { text: `n      reason\n12345  ${'x'.repeat(22)}…`, cut: true })
  const many = Array.from({ length: 20 }, () => 'eight888')
  assert.equal(table(many, [many], 100), { text: table(many, [many]).text, cut: false })
})

test.run()
