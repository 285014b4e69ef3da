/** The pages of tasks: what was rewritten, and why it was accepted. */
import * as fc from 'fast-check'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { openLogReader } from '../../src/events/log-reader.ts'
import { structuralDiff } from '../../src/ui/logic/structural-diff.ts'
import type { TaskPage, TasksPage } from '../../src/ui/logic/tasks-page.ts'
import { type Decided, whyDecided } from '../../src/ui/logic/why-decided.ts'
import { wordDiff } from '../../src/ui/logic/word-diff.ts'
import { unpackFixture } from '../replay/fixture.ts'
import { temporaryFolder } from '../support/run.ts'
import { browse, hasBrowser, readPages } from './reading-pages.ts'

process.env.RL_RUNS = temporaryFolder()
const { log: path } = unpackFixture(process.env.RL_RUNS)
const log = openLogReader(path)
const [proposed] = [...log.events({ types: ['TaskProposed'] })]
const [accepted] = [...log.events({ types: ['TaskAccepted'] })]
log.close()
const { slot } = accepted.data

test('a diff of words holds both texts', () => {
  assert.equal(wordDiff('put a cup', 'put the cup'), [
    { kind: 'same', text: 'put ' },
    { kind: 'gone', text: 'a ' },
    { kind: 'new', text: 'the ' },
    { kind: 'same', text: 'cup' },
  ])
  const text = fc.array(fc.constantFrom('a', 'b', 'cup', ' ', '\n')).map((words) => words.join(' '))
  fc.assert(
    fc.property(text, text, (before, after) => {
      const pieces = wordDiff(before, after)
      const without = (kind: string) =>
        pieces
          .filter((piece) => piece.kind !== kind)
          .map((piece) => piece.text)
          .join('')
      assert.is(without('new'), before)
      assert.is(without('gone'), after)
    }),
  )
  const long = 'w '.repeat(5_000)
  assert.is(wordDiff(`${long}a`, `${long}b`).length, 3)
})

test('a diff of recipes names each changed field', () => {
  assert.equal(structuralDiff({ goal: { object: 'Mug', n: 1 } }, { goal: { object: 'Book', n: 1 } }), [
    { path: 'goal.object', before: '"Mug"', after: '"Book"' },
  ])
  assert.equal(structuralDiff({ a: [1, 2] }, { a: [1] }), [{ path: 'a.1', before: '2', after: null }])
  assert.equal(structuralDiff({ a: [1] }, { a: { b: 1 } }), [{ path: 'a', before: '[1]', after: '{"b":1}' }])
  assert.equal(structuralDiff({ a: null }, { a: null }), [])
})

const decided: Decided = {
  direction: 'harder',
  accepted: true,
  reason: 'harder and within reach',
  parent: { successes: 8, n: 8 },
  candidate: { successes: 4, n: 8 },
  low: 0.2,
  high: 0.8,
  probability: 0.97,
  confidence: 0.8,
  ownRule: null,
}

test('a decision is told in sentences, whoever decided', () => {
  assert.match(
    whyDecided(decided).join(' '),
    /8 of 8 times.*4 of 8 times.*more often than 20 %.*97 % probable.*80 %/,
  )
  assert.match(whyDecided({ ...decided, confidence: null }).join(' '), 'measured shares alone')
  assert.match(whyDecided({ ...decided, ownRule: 'mine' }).join(' '), 'a rule of its own: mine')
  assert.is(whyDecided({ ...decided, candidate: { successes: 0, n: 0 } }).length, 3)
})

test('tasks tell what the log holds, and the past knows nothing of later decisions', async () => {
  await readPages('/r/run', async ({ get, ask }) => {
    const page = await get<TasksPage>('/tasks')
    assert.equal(
      page.lanes.map((lane) => lane.slot),
      [slot],
    )
    assert.equal([page.accepted, page.rejected, page.slots], [1, 0, 6])
    assert.is((await get<TasksPage>('/tasks?all=1')).lanes.length, 6)
    const task = await get<TaskPage>(`/tasks/${slot}`)
    const [newest, first] = task.history
    assert.is(newest.is === 'version' && newest.isActive, true)
    assert.is(first.is === 'version' && first.isActive, false)
    const decision = newest.is === 'version' ? newest.proposal?.decision : null
    assert.equal(decision?.accuracy, accepted.data.accuracy)
    assert.ok(
      decision !== null && decision !== undefined && decision.probability > 0 && decision.probability < 1,
    )
    assert.is(newest.is === 'version' && newest.goal, proposed.data.task.goal)
    const before = await get<TaskPage>(`/tasks/${slot}?at=${accepted.position - 1}`)
    assert.is(before.history[0].is === 'version' && before.history[0].proposal?.decision, null)
    assert.is(before.history[1].is === 'version' && before.history[1].isActive, true)
    const missing = await ask('/api/r/run/tasks/train-0000')
    assert.is(missing.status, 404)
    assert.match(JSON.stringify(missing.body), 'nearest')
  })
})

if (hasBrowser())
  test('a rewritten task and the reason of its decision are three actions away', async () => {
    await readPages('/r/run', async (reading) => {
      await browse(reading, async (page) => {
        await page.keyboard.press('g')
        await page.keyboard.press('t')
        await page.getByRole('link', { name: slot }).click()
        await page.getByRole('heading', { name: 'Why was it accepted?' }).waitFor()
        await page.locator('ins').first().waitFor()
        await page
          .getByRole('link', { name: `iteration ${accepted.data.iteration}`, exact: true })
          .first()
          .click()
        await page.getByText('they part', { exact: true }).waitFor()
      })
    })
  })

test.run()
