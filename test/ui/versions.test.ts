/** The pages of versions: what each was made from, and which servers took it. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { runFolder } from '../../src/broker/connection.ts'
import { encodeEnvelope } from '../../src/events/codec.ts'
import { openLog } from '../../src/events/log.ts'
import { openLogReader } from '../../src/events/log-reader.ts'
import type { VersionPage, VersionsPage } from '../../src/ui/logic/versions-page.ts'
import { copyRun, unpackFixture } from '../replay/fixture.ts'
import { temporaryFolder } from '../support/run.ts'
import { browse, hasBrowser, readPages } from './reading-pages.ts'

const rules = [{ kind: 'acceptance', name: 'mine', version: 1, digest: 'a'.repeat(64) }]
const root = temporaryFolder()
process.env.RL_RUNS = root
const source = unpackFixture(temporaryFolder())
const { log: path } = copyRun(source, runFolder('run', root), {
  change: (event) => (event.type === 'RunStarted' ? { ...event, data: { ...event.data, rules } } : event),
})
const before = openLogReader(path)
const updates = [...before.events({ types: ['PolicyUpdated'] })].map(({ data }) => data)
const end = before.head().position
before.close()

const log = openLog(path, { run: 'run', minFreeBytes: 0, synchronous: 'NORMAL' })
const last = updates[updates.length - 1]
log.append([
  log.check(
    encodeEnvelope({
      id: '01a21635-dd59-77ed-bd05-52e47170936c',
      type: 'PolicyPublished',
      v: 1,
      run: 'run',
      actor: 'policy/1',
      time: Date.now(),
      cause: null,
      data: {
        version: last.version,
        name: 'run-2',
        kind: 'lora',
        checkpoint: last.checkpoint,
        replicas: [
          { url: 'http://one:8000', state: 'refused', error: '<b>no room</b>' },
          { url: 'http://two:8000', state: 'timed-out', error: 'no answer' },
        ],
        serving: last.version - 1,
        timing: {},
      },
    }),
  ),
])
log.close()

test('a version tells its data, its servers, and the rules that decided', async () => {
  await readPages('/r/run', async ({ get, ask }) => {
    const { rows } = await get<VersionsPage>('/versions')
    assert.is(rows.length, 6)
    assert.equal(rows.find(({ role, version }) => role === 'policy' && version === last.version)?.published, {
      took: 0,
      of: 2,
      serving: last.version - 1,
    })
    const page = await get<VersionPage>(`/versions/policy/${last.version}`)
    assert.equal(
      page.trainedOn.flatMap(({ iteration, slot, members }) =>
        members.map((one) => `${iteration}/${slot}/${one}`),
      ),
      last.trainedOn,
    )
    assert.is(page.evaluations.length, 2)
    assert.equal(page.rules, rules)
    assert.is(page.published?.serving, last.version - 1)
    assert.is((await get<VersionPage>(`/versions/policy/${last.version}?at=${end}`)).published, null)
    assert.equal((await get<VersionPage>('/versions/policy/0')).usedBy, [0, 1])
    assert.is((await ask('/api/r/run/versions/policy/77')).status, 404)
    assert.match(JSON.stringify((await ask('/api/r/run/versions/nobody/0')).body), 'reward-model')
  })
})

if (hasBrowser())
  test('a version that no server took names the one that stands in', async () => {
    await readPages('/r/run', async (reading) => {
      await browse(reading, async (page) => {
        await page.getByRole('link', { name: 'Versions' }).click()
        await page.getByText(`${last.version - 1} stands in`).waitFor()
        await page
          .getByRole('link', { name: String(last.version), exact: true })
          .first()
          .click()
        await page.getByText(`version ${last.version - 1} stands in`).waitFor()
        await page.getByText('<b>no room</b>').waitFor()
        await page.keyboard.press('h')
        await page.getByRole('heading', { name: `policy version ${last.version - 1}` }).waitFor()
      })
    })
  })

test.run()
