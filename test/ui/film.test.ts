/** Screens of a rollout: which files are served, where an action points, and the film in a browser. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { runFolder } from '../../src/broker/connection.ts'
import { openBlobStore } from '../../src/events/blobs.ts'
import type { LoggedEvent } from '../../src/events/catalogue.ts'
import type { TrajectoryPage } from '../../src/ui/logic/answers.ts'
import { clickMarks } from '../../src/ui/logic/click-marks.ts'
import { temporaryFolder, until } from '../support/run.ts'
import { greyPng } from './grey-png.ts'
import { idOf, madeEvents, writeRun } from './made-run.ts'
import { browse, hasBrowser, readPages } from './reading-pages.ts'

const SIZE = { width: 40, height: 20 }

/** A PNG of one grey. */
const grey = (value: number) => greyPng(SIZE, [[0, 0, SIZE.width, SIZE.height, value]])

const root = temporaryFolder()
process.env.RL_RUNS = root
const made = madeEvents(1)
const played = made.flatMap(({ type, data }) =>
  type === 'TrajectoryCompleted' && data.purpose === 'train' && data.steps > 1 ? [data] : [],
)
const [seen, other] = played
const blobs = openBlobStore(runFolder('run').blobs)
const screens = Array.from({ length: seen.steps + 1 }, (_, i) => blobs.put(grey(60 + 30 * i)))
const page = blobs.put(Buffer.from('<script>alert(1)</script>'))
const secret = blobs.put(Buffer.from('a blob that is no screen'))
let next = 900_000
const recorded = (rollout: string, refs: readonly { sha256: string; bytes: number }[]) =>
  ({
    ...{ id: idOf(next++), type: 'FramesRecorded', actor: 'head', cause: null, time: made.at(-1)!.time },
    data: {
      rollout,
      iteration: seen.iteration,
      task: seen.task,
      frames: refs.map((ref) => ({ ...ref, mediaType: 'image/png', ...SIZE })),
    },
  }) as unknown as LoggedEvent
writeRun(root, 'run', [
  ...made.map((event) =>
    event.type === 'TrajectoryCompleted' && event.data.rollout === seen.rollout
      ? { ...event, data: { ...event.data, actions: seen.actions.map(() => 'pyautogui.click(10, 5)') } }
      : event,
  ),
  recorded(seen.rollout, screens),
  recorded(other.rollout, [page, { sha256: 'e'.repeat(64), bytes: 4 }]),
])

test('an action points where its form says', () => {
  const size = { width: 1000, height: 500 }
  const [x, y] = [0.5, 0.5]
  assert.equal(clickMarks('pyautogui.doubleClick(x=500, y=250)', size), [{ x, y }])
  assert.equal(clickMarks('{"action_type": "CLICK", "parameters": {"x": 500, "y": 250}}', size), [{ x, y }])
  assert.equal(clickMarks('{"action": "left_click", "coordinate": [499.5, 499.5]}', size), [{ x, y }])
  assert.equal(clickMarks("click(point='<point>500 500</point>')", size), [{ x, y }])
  assert.equal(clickMarks("click(start_box='(500,500)')", size), [{ x, y }])
  assert.equal(clickMarks('click-at 500 250', size), [{ x, y }])
  assert.equal(clickMarks('pyautogui.click(5000, 5)', size), [], 'outside of the screen')
  assert.equal(clickMarks('go to shelf 5, 7', size), [])
  assert.is(clickMarks('"x": 1, "y": 1 '.repeat(10_000), size).length, 20)
})

test('a screen is served by the event that names it, and nothing else is', async () => {
  await readPages('/r/run', async ({ base, get, session }) => {
    const cookie = (await session()).join('=')
    const read = (sha256: string, rollout = seen.rollout, run = 'run') =>
      fetch(`${base}/api/r/${run}/blobs/${sha256}?rollout=${encodeURIComponent(rollout)}`, {
        headers: { cookie },
      })
    const shown = await get<TrajectoryPage>(`/rollouts/${seen.rollout}`)
    assert.equal(
      shown.frames.map(({ sha256 }) => sha256),
      screens.map(({ sha256 }) => sha256),
    )
    const answer = await read(screens[0].sha256)
    assert.is(answer.status, 200)
    assert.is(answer.headers.get('content-type'), 'image/png')
    assert.is(answer.headers.get('x-content-type-options'), 'nosniff')
    assert.is((await answer.arrayBuffer()).byteLength, screens[0].bytes)
    assert.is((await read(secret.sha256)).status, 404, 'no event names it as a screen')
    assert.is((await read(page.sha256, other.rollout)).status, 404, 'it is no picture')
    assert.is((await read(screens[0].sha256, other.rollout)).status, 404)
    assert.is((await read('e'.repeat(64), other.rollout)).status, 500, 'the file is gone')
    assert.is((await read('..%2f..%2fevents.db')).status, 404)
    assert.is((await fetch(`${base}/api/r/run/blobs/${screens[0].sha256}`)).status, 401)
  })
})

if (hasBrowser())
  test('the film shows screens before and after an action, and where it points', async () => {
    await readPages(`/r/run/t/${seen.rollout}?step=0`, async (reading) => {
      await browse(reading, async (page) => {
        const before = page.getByAltText('screen before step 0')
        await before.waitFor()
        await until('all screens are drawn', () =>
          page.evaluate<boolean>(
            '[...document.images].every((image) => image.complete && image.naturalWidth === 40)',
          ),
        )
        await page.getByText('where the action points: 10, 5').waitFor()
        assert.is(await page.locator('.click-mark').count(), 1)
        await page.getByLabel('share of the screen after the action').fill('60')
        await page.getByAltText('screen after step 0').waitFor()
        await page.getByRole('button', { name: 'screen before step 1' }).click()
        await page.getByAltText('screen before step 1').waitFor()
        await page.getByRole('button', { name: 'the last screen' }).click()
        assert.match(page.url(), new RegExp(`step=${seen.steps - 1}`))
      })
    })
  })

test.run()
