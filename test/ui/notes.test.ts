/** Notes on a run and on its events: kept beside the log, in bounds, and shown where they belong. */
import {
  appendFileSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { openLogReader } from '../../src/events/log-reader.ts'
import { verifyLog } from '../../src/events/verify.ts'
import { trajectoryRows } from '../../src/replay/export.ts'
import type { DensityPage } from '../../src/ui/logic/answers.ts'
import type { Note, NotesPage } from '../../src/ui/logic/notes-page.ts'
import { unpackFixture } from '../replay/fixture.ts'
import { temporaryFolder } from '../support/run.ts'
import { browse, hasBrowser, type Reading, readPages } from './reading-pages.ts'

const root = temporaryFolder()
process.env.RL_RUNS = root
const { log: path, folder } = unpackFixture(root)
const file = join(folder, 'notes.jsonl')

async function post(
  { base, session }: Reading,
  body: string,
  headers: Readonly<Record<string, string>> = {},
) {
  const cookie = (await session()).join('=')
  const answer = await fetch(`${base}/api/r/run/notes`, {
    method: 'POST',
    headers: { cookie, 'content-type': 'application/json', origin: base, ...headers },
    body,
  })
  return { status: answer.status, body: (await answer.json()) as Note & { code: string; message: string } }
}

const noteOf = (text: string, position: number | null = null) => JSON.stringify({ text, position })

test('a note stands beside the log, and the log stays as it is', async () => {
  const before = readFileSync(path)
  await readPages('/r/run', async (reading) => {
    const { get } = reading
    assert.equal(await get<NotesPage>('/notes'), { total: 0, notes: [] })
    assert.is((await post(reading, noteOf('the judge errs here', 40))).status, 200)
    const own = await post(reading, noteOf(' why so slow?\r\nlook \u202e again '))
    assert.is(own.body.about, 'run')
    assert.is(own.body.text, 'why so slow?\nlook \u202e again')
    const all = await get<NotesPage>('/notes')
    assert.equal(
      all.notes.map(({ about }) => about),
      ['run', 'event'],
    )
    assert.is((await get<NotesPage>('/notes?on=40')).total, 1)
    assert.is((await get<NotesPage>('/notes?on=41')).total, 0)
    assert.is((await get<NotesPage>('/notes?at=39')).total, 0, 'the past knows no later note')
    const { marks } = await get<DensityPage>('/density')
    assert.equal(
      marks.filter(({ kind }) => kind === 'note').map(({ position }) => position),
      [40, own.body.position],
    )
  })
  assert.is(statSync(file).mode & 0o777, 0o600)
  assert.ok(readFileSync(path).equals(before))
  const log = openLogReader(path)
  assert.ok(verifyLog(log, { files: true }).ok)
  assert.ok([...trajectoryRows(log)].length > 0)
  log.close()
})

test('only the page itself keeps notes, and in bounds', async () => {
  await readPages('/r/run', async (reading) => {
    assert.is((await post(reading, noteOf('x'), { origin: 'http://evil.example' })).status, 403)
    assert.is((await post(reading, noteOf('x'), { 'content-type': 'text/plain' })).status, 403)
    for (const wrong of ['', 'null', '7', '{}', noteOf(''), noteOf(' \n '), noteOf('x', 0), noteOf('x', 9e9)])
      assert.is((await post(reading, wrong)).body.code, 'ui.bad-note', wrong)
    assert.is((await post(reading, noteOf('ä'.repeat(2_001)))).body.code, 'ui.bad-note')
    assert.is((await post(reading, noteOf('x'.repeat(50_000)))).status, 413)
  })
})

test('a file that others wrote into is read as far as it holds notes', async () => {
  appendFileSync(file, 'no JSON\n{"text":7}\n\n')
  appendFileSync(file, '{"time":1,"position":1,"about":"run","text":"torn')
  await readPages('/r/run', async ({ get }) => {
    assert.is((await get<NotesPage>('/notes')).total, 2)
    appendFileSync(file, '"}\n')
    assert.is((await get<NotesPage>('/notes')).total, 3)
    rmSync(file)
    assert.is((await get<NotesPage>('/notes')).total, 0)
    const many = { time: 1, position: 1, about: 'run', text: 'many' }
    writeFileSync(file, `${JSON.stringify(many)}\n`.repeat(10_000))
  })
  await readPages('/r/run', async (reading) => {
    const page = await reading.get<NotesPage>('/notes')
    assert.is(page.total, 10_000)
    assert.is(page.notes.length, 200)
    assert.match((await post(reading, noteOf('one more'))).body.message, '10000 notes already')
  })
  rmSync(file)
})

test('a link or a folder in its place is refused by name', async () => {
  await readPages('/r/run', async (reading) => {
    symlinkSync(join(root, 'elsewhere'), file)
    const linked = await post(reading, noteOf('x'))
    assert.is(linked.body.code, 'ui.notes')
    assert.match(linked.body.message, 'is a link')
    rmSync(file)
    mkdirSync(file)
    assert.is((await post(reading, noteOf('x'))).body.code, 'ui.notes')
    assert.is((await reading.ask('/api/r/run/notes')).status, 500)
    assert.is((await reading.ask('/api/r/run/density')).status, 200, 'the footer goes on')
    rmSync(file, { recursive: true })
  })
})

if (hasBrowser())
  test('a note is written on an event, and is shown there, in the overview and at the foot', async () => {
    await readPages('/r/run/events?sel=40', async (reading) => {
      await browse(reading, async (page) => {
        await page.getByText('notes: 0').click()
        await page.getByLabel('a note on event 40').fill('<b>look</b> here')
        await page.getByRole('button', { name: 'keep the note' }).click()
        await page.locator('.notes').getByText('<b>look</b> here').waitFor()
        await page.getByRole('link', { name: 'note at 40' }).waitFor({ state: 'attached' })
        await page.getByRole('link', { name: 'Overview' }).click()
        await page.getByText('on the event').waitFor()
        await page.getByLabel('a note on this run').fill('on the whole')
        await page.getByRole('button', { name: 'keep the note' }).click()
        await page.locator('.notes').getByText('on the whole').waitFor()
      })
    })
  })

test.run()
