/** Actions of a page: who may ask for them, the command that each is, and what a browser shows of one. */
import { existsSync } from 'node:fs'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { runFolder } from '../../src/broker/connection.ts'
import { actionOf } from '../../src/ui/server/actions.ts'
import { unpackFixture } from '../replay/fixture.ts'
import { temporaryFolder } from '../support/run.ts'
import { browse, hasBrowser, readPages } from './reading-pages.ts'

process.env.RL_RUNS = temporaryFolder()
unpackFixture(process.env.RL_RUNS)

test('an action is one command, and its words are checked', () => {
  const fork = actionOf('fork', 'run', { at: 7, as: 'other', set: ['learning.lambda=0', "run.x=it's"] })
  assert.is(
    fork.command,
    `npm run -s rl -- fork run --at 7 --as other --set learning.lambda=0 --set 'run.x=it'\\''s'`,
  )
  const asked = actionOf('ask', 'run', { rollout: '1/a/0', step: 2, policy: 3 })
  assert.is(asked.command, 'npm run -s rl -- ask run/1/a/0 --step 2 --policy 3')
  const refused: readonly [string, unknown][] = [
    ['fork', { at: 0, set: [] }],
    ['fork', { at: 1, set: ['--trust'] }],
    ['fork', { at: 1, as: '../other', set: [] }],
    ['fork', null],
    ['whatif', { rollout: '--trust', step: 0, n: 1 }],
    ['whatif', { rollout: 'a', step: 0, n: 1e9 }],
    ['ask', { rollout: '--trust', step: 0 }],
    ['ask', { rollout: 'a', step: -1 }],
    ['constructor', {}],
  ]
  for (const [kind, input] of refused)
    assert.throws(() => actionOf(kind, 'run', input), /./, `${kind} ${JSON.stringify(input)}`)
})

test('only the page itself may ask, and with JSON alone', async () => {
  await readPages('/r/run', async ({ base, session }) => {
    const cookie = (await session()).join('=')
    const post = async (headers: Readonly<Record<string, string>>) =>
      (await fetch(`${base}/api/r/run/actions/pause`, { method: 'POST', body: '{}', headers })).status
    const json = { 'content-type': 'application/json' }
    assert.is(await post({ ...json, origin: base }), 401, 'without a session')
    assert.is(await post({ cookie, origin: base }), 403, 'a form of another site sends no JSON')
    assert.is(await post({ cookie, ...json }), 403, 'without an origin')
    assert.is(await post({ cookie, ...json, origin: 'http://127.0.0.1:1' }), 403)
    assert.is(await post({ cookie, ...json, origin: base }), 200)
  })
})

if (hasBrowser())
  test('a fork is made on the page, and its failure is told there', async () => {
    await readPages('/r/run?at=300', async (reading) => {
      await browse(reading, async (page) => {
        await page.getByRole('button', { name: 'fork here' }).click()
        await page.getByText('rl -- fork run --at 300').waitFor()
        await page.getByLabel('name').fill('branch')
        await page.getByLabel('changed keys').fill('learning.lambda=0.1')
        await page.getByText('--as branch --set learning.lambda=0.1').waitFor()
        await page.getByRole('button', { name: 'Make a fork' }).click()
        await page.getByText('npm start -- --role head --run branch').waitFor()
        assert.ok(existsSync(runFolder('branch').log))
        await page.getByRole('button', { name: 'close' }).click()
        await page.getByRole('button', { name: 'fork here' }).click()
        await page.getByLabel('changed keys').fill('learning.lambada=0.1')
        await page.getByText('--set learning.lambada').waitFor()
        await page.getByRole('button', { name: 'Make a fork' }).click()
        await page.getByText('learning.lambda').last().waitFor()
        await page.getByRole('alert').waitFor()
      })
    })
  })

test.run()
