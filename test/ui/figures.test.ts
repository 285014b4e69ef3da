/** Figures of a damaged log: the panels that need them say why, and nothing waits for them. */
import Database from 'better-sqlite3'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { runFolder } from '../../src/broker/connection.ts'
import { makeReport } from '../../src/ui/server/report.ts'
import { copyRun, unpackFixture } from '../replay/fixture.ts'
import { temporaryFolder } from '../support/run.ts'
import { readPages } from './reading-pages.ts'

const root = temporaryFolder()
process.env.RL_RUNS = root
const { log: path } = copyRun(unpackFixture(root), runFolder('hurt', root), {})
const db = new Database(path)
const triggers = db.prepare(`SELECT name FROM sqlite_master WHERE type = 'trigger'`).pluck().all()
for (const name of triggers) db.exec(`DROP TRIGGER "${name}"`)
db.prepare(`UPDATE events SET body = x'c1' WHERE position = (SELECT max(position) - 40 FROM events)`).run()
db.close()

test('a fold that fails is told with its reason, and other panels go on', async () => {
  await readPages('/r/hurt', async ({ ask }) => {
    let answer = await ask('/api/r/hurt/overview')
    for (let tries = 0; answer.status === 200 && tries < 400; tries++) {
      await new Promise((resolve) => setTimeout(resolve, 5))
      answer = await ask('/api/r/hurt/overview')
    }
    assert.is(answer.status, 500)
    const { message, hint } = answer.body as { readonly message: string; readonly hint: string }
    assert.match(message, /^the figures cannot be folded: /)
    assert.match(hint, /rl log RUN verify/)
    assert.is((await ask('/api/r/hurt/head')).status, 200)
    assert.is((await ask('/api/r/hurt/iterations/1')).status, 200)
  })
})

test('a report of such a log ends, with what can be read', async () => {
  const { held, html } = await makeReport('hurt')
  assert.ok(held > 5)
  assert.ok(html.length > 0)
})

test.run()
