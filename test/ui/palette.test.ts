/** The command palette, and the `rl` command of each view. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { commandOfView } from '../../src/ui/logic/command-of-view.ts'
import { suggestionsOf } from '../../src/ui/logic/palette.ts'
import { unpackFixture } from '../replay/fixture.ts'
import { temporaryFolder } from '../support/run.ts'
import { browse, hasBrowser, readPages } from './reading-pages.ts'

process.env.RL_RUNS = temporaryFolder()
unpackFixture(process.env.RL_RUNS)

const context = { run: 'r1', path: '/r/r1/tasks', position: 90_233, runs: ['r1', 'other-run'] }
/** Presses three keys. Tells for each if its dialog is open before a frame is drawn. */
const OPEN_AT_ONCE = `(async () => {
  const opened = []
  for (const key of [{ key: 'k', ctrlKey: true }, { key: '?' }, { key: 'x' }]) {
    document.body.dispatchEvent(new KeyboardEvent('keydown', { ...key, bubbles: true }))
    for (let turn = 0; turn < 20; turn++) await null
    const box = document.querySelector('dialog[open]')
    opened.push(box !== null)
    box?.close()
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  return opened
})()`

const first = (text: string) => suggestionsOf(text, context)[0]?.href

test('what is typed leads where it is called so', () => {
  assert.is(first('3/train-00012/5'), '/r/r1/t/3/train-00012/5')
  assert.is(first('3/train-00012/5#4'), '/r/r1/t/3/train-00012/5?step=4')
  assert.is(first('3/train-00012'), '/r/r1/g/3/train-00012')
  assert.is(first('train-00012'), '/r/r1/tasks/train-00012')
  assert.is(first('policy/3'), '/r/r1/versions/policy/3')
  assert.is(first('judge 2'), '/r/r1/versions/reward-model/2')
  assert.is(first(' 90,233 '), '/r/r1/tasks?at=90233')
  assert.is(first('90234'), '/r/r1/i/90234', 'the log is shorter')
  assert.is(first('jud'), '/r/r1/judge')
  assert.is(first('other'), '/r/other-run')
  assert.match(first('kettle') ?? '', 'events?q=kettle')
  assert.ok(suggestionsOf('', context).length >= 8)
  assert.equal(
    suggestionsOf('3/train-00012/5', { ...context, run: null }),
    [],
    'outside of a run it means nothing',
  )
  const hostile = suggestionsOf(`"><script>${'x'.repeat(5_000)}`, context)
  assert.ok(hostile.every(({ href }) => href.startsWith('/') && !href.startsWith('//')))
})

test('each view has the command that tells the same', () => {
  const told = (path: string, search = '') => commandOfView(path, search)?.replace('npm run -s rl -- ', '')
  assert.is(told('/'), 'runs')
  assert.is(told('/r/r1'), 'status r1')
  assert.is(told('/r/r1/t/3/train-00012/5', 'step=4'), "why r1 step '3/train-00012/5#4'")
  assert.is(told('/r/r1/t/3/train-00012/5'), 'log r1 show Rollout/3/train-00012/5')
  assert.is(told('/r/r1/events', 'sel=40'), 'log r1 show 40')
  assert.is(told('/r/r1/versions/policy/3'), 'why r1 version policy/3')
  assert.is(told('/compare', 'a=x&b=y'), 'diff x y')
  assert.is(told("/r/r1/tasks/it's; rm"), "why r1 task 'it'\\''s; rm'")
  assert.is(told('/nowhere'), undefined)
})

if (hasBrowser())
  test('Ctrl-K goes anywhere by keyboard alone, and x shows the command', async () => {
    await readPages('/r/run', async (reading) => {
      await browse(reading, async (page) => {
        await page.keyboard.press('Control+k')
        await page.getByRole('combobox', { name: 'position, rollout' }).fill('policy/1')
        await page.getByRole('option', { name: 'version 1 of policy' }).waitFor()
        await page.keyboard.press('Enter')
        await page.waitForURL('**/versions/policy/1')
        await page.keyboard.press('Control+k')
        await page.keyboard.type('e')
        await page.keyboard.press('ArrowDown')
        await page.keyboard.press('Escape')
        await page.getByRole('combobox', { name: 'position, rollout' }).waitFor({ state: 'detached' })
        await page.keyboard.press('x')
        await page.getByText('rl -- why run version policy/1').waitFor()
        await page.getByRole('button', { name: 'close' }).click()
        await page.getByRole('button', { name: 'go to', exact: true }).click()
        await page.getByRole('combobox', { name: 'position, rollout' }).fill('tasks')
        await page.getByRole('option', { name: 'tasks', exact: true }).click()
        await page.getByRole('heading', { name: 'Tasks' }).waitFor()
      })
    })
  })

if (hasBrowser())
  test('a dialog is there for the next key, before a frame is drawn', async () => {
    await readPages('/r/run', async (reading) => {
      await browse(reading, async (page) => {
        await page.getByRole('button', { name: 'go to', exact: true }).waitFor()
        const open = await page.evaluate(OPEN_AT_ONCE)
        assert.equal(open, [true, true, true])
      })
    })
  })

test.run()
