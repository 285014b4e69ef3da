import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { RlError } from '../../src/errors.ts'
import { openLogReader } from '../../src/events/log-reader.ts'
import { openKept } from '../../src/projections/kept.ts'
import { loadProjections, projectionsOf } from '../../src/projections/registry.ts'
import { exportersWith } from '../../src/replay/exporters.ts'
import { unpackFixture } from '../replay/fixture.ts'
import { temporaryFolder } from '../support/run.ts'

const NAMES = { projections: { modules: ['./test/fixtures/modules/projections.ts'] } }

async function refusal(work: () => Promise<unknown>): Promise<RlError> {
  try {
    await work()
  } catch (error) {
    assert.instance(error, RlError)
    return error as RlError
  }
  throw new Error('it was taken')
}

test("a user's projection is folded, digested and rebuilt like ours; one that fails is set aside alone", async () => {
  await loadProjections(NAMES)
  const log = openLogReader(unpackFixture(temporaryFolder()).log)
  const digestsOf = (path: string) => {
    const db = new Database(path)
    const kept = openKept(db, projectionsOf(NAMES))
    kept.catchUp(log)
    const rows = db.prepare('SELECT SUM(n) FROM verbs').pluck().get()
    return { digests: kept.digests(), failed: [...kept.failed], rows }
  }
  const file = join(temporaryFolder(), 'projections.db')
  const once = digestsOf(file)
  const actions = [...log.events({ types: ['TrajectoryCompleted'] })].reduce(
    (sum, event) => sum + (event.type === 'TrajectoryCompleted' ? event.data.actions.length : 0),
    0,
  )
  assert.is(once.rows, actions)
  const [[name, reason]] = once.failed
  assert.is(name, 'mistaken')
  assert.match(
    reason,
    /projections\.ts:\d+:\d+: projections: 'mistaken': fold\(\) failed: a mistake in the fold \(IterationCompleted at position \d+\)/,
  )
  assert.ok('verbs' in once.digests && 'accuracy' in once.digests && !('mistaken' in once.digests))
  assert.equal(digestsOf(file), once, 'going on from the file')
  assert.equal(digestsOf(':memory:'), once, 'from the first event')
  log.close()
})

test('a projection with a mistake in its form, or with a name that is taken, is refused with its file', async () => {
  const folder = temporaryFolder()
  const whole = "version: 1, tables: [], interests: ['RunStarted'], fold() {}"
  for (const [i, [source, message]] of (
    [
      ['export const nothing = 1', /no exported list `projections`/],
      [`export const projections = [{ name: 'A', ${whole} }]`, /projection 0 has no name/],
      [
        "export const projections = [{ name: 'a', version: 1, tables: [], interests: [], fold() {} }]",
        /'a' has no interests/,
      ],
      [
        "export const projections = [{ name: 'a', version: 1, tables: [], interests: ['RunStartet'], fold() {} }]",
        /'a': interests: there is no type of event 'RunStartet'; did you mean 'RunStarted'\?/,
      ],
      [
        `export const projection = [{ name: 'a', ${whole} }]`,
        /projection: nothing reads an export of this name/,
      ],
      [`export const projections = [{ name: 'accuracy', ${whole} }]`, /'accuracy' is taken by rlanything/],
    ] as const
  ).entries()) {
    const file = join(folder, `p${i}.mjs`)
    writeFileSync(file, source)
    const { message: told } = await refusal(() => loadProjections({ projections: { modules: [file] } }))
    assert.match(told, message)
    assert.ok(told.includes(file))
  }
})

test('a fold that makes no sense is set aside with its file: no function, a promise, a value that no column holds', async () => {
  const file = join(temporaryFolder(), 'odd.mjs')
  writeFileSync(
    file,
    `const table = (name) => ({ name, key: ['id'], fresh: { id: '', n: 0 }, sql: 'CREATE TABLE IF NOT EXISTS ' + name + ' (id, n, PRIMARY KEY (id)) WITHOUT ROWID' })
const make = (name, fold) => ({ name, version: 1, tables: [table(name + '_rows')], interests: ['RunStarted'], fold })
export const projections = [
  make('none', () => undefined),
  make('later', () => async () => {}),
  make('odd', (open) => () => { open(table('odd_rows')).row('a').n = undefined }),
]`,
  )
  const names = { projections: { modules: [file] } }
  await loadProjections(names)
  const log = openLogReader(unpackFixture(temporaryFolder()).log)
  const db = new Database(':memory:')
  const kept = openKept(db, projectionsOf(names))
  kept.catchUp(log)
  log.close()
  const failed = Object.fromEntries(kept.failed)
  assert.match(failed.none, /odd\.mjs: projections: 'none': fold\(\): expected a function/)
  assert.match(failed.later, /'later': fold\(\): expected a value at once, got a promise \(RunStarted at/)
  assert.match(failed.odd, /table 'odd_rows', column 'n': undefined is no text, number or null/)
})

test('an exporter that throws or returns nothing is named with its file', async () => {
  const module = join(temporaryFolder(), 'silent.mjs')
  writeFileSync(
    module,
    `const summary = 'nothing'
export const exporters = [
  { name: 'silent', summary, async write() {} },
  { name: 'boom', summary, async write(log) { return log.nobody.name } },
]`,
  )
  const found = await exportersWith(module)
  const told = async (name: string) =>
    (await refusal(async () => found.find((one) => one.name === name)!.write({} as never, 'out'))).message
  assert.match(
    await told('silent'),
    /silent\.mjs: exporters: 'silent': write\(\): expected a line of text, and got nothing/,
  )
  assert.match(await told('boom'), /silent\.mjs:4:\d+: exporters: 'boom': write\(\) failed: TypeError/)
})

test('an exporter that never ends is told with its limit', async () => {
  const module = join(temporaryFolder(), 'slow.mjs')
  writeFileSync(
    module,
    `export const exporters = [{ name: 'slow', summary: 'never', write: () => new Promise(() => {}) }]`,
  )
  const [slow] = (await exportersWith(module, 0.05)).slice(-1)
  const { message, code, hint } = await refusal(() => slow.write({} as never, 'out'))
  assert.match(message, /slow\.mjs: exporters: 'slow': write\(\): no answer within 0\.05 s/)
  assert.is(code, 'exporter.invalid')
  assert.is(hint, '--timeout sets the time limit')
})

test('a format of a user is written beside ours', async () => {
  const folder = temporaryFolder()
  const module = join(folder, 'formats.mjs')
  writeFileSync(
    module,
    `import { writeFileSync } from 'node:fs'
export const exporters = [{
  name: 'ids',
  summary: 'the ids of all rollouts',
  async write(log, out) {
    const ids = [...log.events({ types: ['TrajectoryCompleted'] })].map(({ data }) => data.rollout)
    writeFileSync(out, ids.join('\\n'))
    return ids.length + ' ids'
  },
}]`,
  )
  const exporter = (await exportersWith(module)).find(({ name }) => name === 'ids')!
  const log = openLogReader(unpackFixture(temporaryFolder()).log)
  const out = join(folder, 'ids.txt')
  assert.match(await exporter.write(log, out), /^\d+ ids$/)
  assert.ok(existsSync(out))
  log.close()
  writeFileSync(
    join(folder, 'none.mjs'),
    'export const exporters = [{ name: "jsonl", summary: "", write() {} }]',
  )
  assert.match(
    (await refusal(() => exportersWith(join(folder, 'none.mjs')))).message,
    /the name of a built-in format/,
  )
})

test.run()
