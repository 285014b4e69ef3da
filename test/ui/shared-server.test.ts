/** Many pages at once on one server, and what each of them goes on hearing and asking. */
import { once } from 'node:events'
import { renameSync } from 'node:fs'
import { get, type IncomingMessage } from 'node:http'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { runFolder } from '../../src/broker/connection.ts'
import { CATALOGUE } from '../../src/events/catalogue.ts'
import { encodeEnvelope } from '../../src/events/codec.ts'
import { openLog } from '../../src/events/log.ts'
import { temporaryFolder, until } from '../support/run.ts'
import { idOf, madeEvents, writeRun } from './made-run.ts'
import { type Reading, readPages } from './reading-pages.ts'

const root = temporaryFolder()
process.env.RL_RUNS = root
const made = madeEvents(1).filter(({ type }) => type !== 'RunCompleted')
/** More runs than stay open at a time. */
const RUNS = Array.from({ length: 10 }, (_, i) => `run-${i}`)
for (const run of RUNS) writeRun(root, run, made)
writeRun(root, 'run', made)

function grow(run: string, id: number): void {
  const log = openLog(runFolder(run).log, { run, minFreeBytes: 0, synchronous: 'NORMAL' })
  const data = { reason: 'a test' }
  const { v } = CATALOGUE.RunPaused
  const envelope = {
    id: idOf(id),
    type: 'RunPaused',
    v,
    run,
    actor: 'head',
    time: 1,
    cause: null,
    data,
  } as const
  log.append([log.check(encodeEnvelope(envelope))])
  log.close()
}

type Heard = { readonly text: () => string; readonly isOver: () => boolean; readonly end: () => void }

/** Listens to a run as a tab does. */
async function listen({ base, session }: Reading, run: string): Promise<Heard> {
  const cookie = (await session()).join('=')
  const asked = get(`${base}/api/r/${run}/live`, { headers: { cookie }, agent: false })
  asked.on('error', () => {})
  const [answer] = (await once(asked, 'response')) as [IncomingMessage]
  let text = ''
  let isOver = false
  answer.setEncoding('utf8').on('data', (part: string) => {
    text += part
  })
  answer.on('error', () => {})
  answer.once('close', () => {
    isOver = true
  })
  return { text: () => text, isOver: () => isOver, end: () => asked.destroy() }
}

test('a tab hears of its run however many other runs are looked at', async () => {
  await readPages('/', async (reading) => {
    const heard = await listen(reading, 'run')
    for (const run of RUNS) assert.is((await reading.ask(`/api/r/${run}/head`)).status, 200)
    grow('run', 800_000)
    // A stream that ends is begun anew by the browser.
    await until('the tab hears', () => heard.isOver() || heard.text().includes('RunPaused'))
    heard.end()
  })
})

test('a stream ends if its log is put aside, so that the tab comes back to what is there', async () => {
  await readPages('/', async (reading) => {
    const heard = await listen(reading, 'run-0')
    renameSync(runFolder('run-0').folder, join(root, 'aside'))
    await until('the stream ends', heard.isOver)
    assert.is((await reading.ask('/api/r/run-0/head')).status, 404)
    renameSync(join(root, 'aside'), runFolder('run-0').folder)
    assert.is((await reading.ask('/api/r/run-0/head')).status, 200)
  })
})

test('an answer of the past is given although its run is closed meanwhile', async () => {
  await readPages('/', async ({ ask, session }) => {
    await session()
    const answers = await Promise.all(RUNS.map((run) => ask(`/api/r/${run}/states?at=5`)))
    assert.equal(
      answers.map(({ status }) => status),
      RUNS.map(() => 200),
      JSON.stringify(answers.find(({ status }) => status !== 200)?.body),
    )
  })
})

test.run()
