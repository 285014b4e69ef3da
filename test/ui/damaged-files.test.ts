/** Files that follow from a log are damaged: pages fold it anew, and say what a person can do. */
import { closeSync, mkdirSync, openSync, readdirSync, statSync, writeFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { runFolder } from '../../src/broker/connection.ts'
import { openLogReader } from '../../src/events/log-reader.ts'
import { cachePlace } from '../../src/package.ts'
import { rebuildKept } from '../../src/replay/projections.ts'
import { copyRun, unpackFixture } from '../replay/fixture.ts'
import { temporaryFolder, until } from '../support/run.ts'
import { type Reading, readPages } from './reading-pages.ts'

const root = temporaryFolder()
process.env.RL_RUNS = root
const { log: path } = unpackFixture(root)

/** Overwrites a file but for its first page, whose tables are still listed. */
function hurt(file: string): void {
  const opened = openSync(file, 'r+')
  const bytes = Buffer.alloc(statSync(file).size - 4_096, 0xa5)
  writeSync(opened, bytes, 0, bytes.length, 4_096)
  closeSync(opened)
}

async function overviewOf({ ask }: Reading, run: string): Promise<unknown> {
  let answer = await ask(`/api/r/${run}/overview`)
  await until('the figures are folded', async () => {
    answer = await ask(`/api/r/${run}/overview`)
    return answer.status !== 200 || (answer.body as { complete: boolean }).complete
  })
  assert.is(answer.status, 200, JSON.stringify(answer.body))
  return answer.body
}

const statesOf = async ({ ask }: Reading, run: string) => (await ask(`/api/r/${run}/states?at=100`)).body

for (const [how, damage] of [
  ['is no database', (file: string) => writeFileSync(file, 'no database'.repeat(500))],
  ['has damaged pages', hurt],
] as const)
  test(`a file of the cache that ${how} is begun anew`, async () => {
    const run = how.replaceAll(' ', '-')
    const log = openLogReader(copyRun({ ...runFolder('run'), log: path }, runFolder(run), {}).log)
    const place = cachePlace('ui', `${run}-${log.hashAt(1).slice(0, 16)}`)
    log.close()
    let before: unknown[] = []
    await readPages('/', async (reading) => {
      before = [await overviewOf(reading, run), await statesOf(reading, run)]
    })
    mkdirSync(place, { recursive: true })
    for (const file of readdirSync(place).filter((name) => name.endsWith('.db'))) damage(join(place, file))
    await readPages('/', async (reading) => {
      assert.equal(await overviewOf(reading, run), before[0])
      const states = (await statesOf(reading, run)) as { deciders: unknown }
      assert.equal(states.deciders, (before[1] as { deciders: unknown }).deciders)
    })
  })

test("figures are folded from the log if the run's own file is damaged, and its tables name the command", async () => {
  const own = copyRun({ ...runFolder('run'), log: path }, runFolder('own'), {})
  const log = openLogReader(own.log)
  rebuildKept(own.projections, log, [])
  log.close()
  await readPages('/', async (reading) => {
    const before = await overviewOf(reading, 'own')
    hurt(own.projections)
    await readPages('/', async (later) => {
      assert.equal(await overviewOf(later, 'own'), before)
      assert.is((await later.ask('/api/r/own/judge')).status, 200)
      const { status, body } = await later.ask('/api/r/own/projections/accuracy')
      assert.is(status, 500)
      const { code, hint } = body as { code: string; hint: string }
      assert.equal(
        [code, hint],
        ['projections.damaged', 'rl projections own rebuild makes it anew from the log'],
      )
    })
  })
})

test.run()
