/** The page that compares runs: what they share, where they part, and which tasks flip. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { runFolder } from '../../src/broker/connection.ts'
import { diffRuns } from '../../src/replay/diff.ts'
import { forkRun } from '../../src/replay/fork.ts'
import {
  type ComparePage,
  pathOfComparison,
  type RunCurve,
  toggled,
} from '../../src/ui/logic/compare-page.ts'
import { smallConfig } from '../actors/loop.ts'
import { recordLoop } from '../replay/record.ts'
import { temporaryFolder } from '../support/run.ts'
import { browse, hasBrowser, type Reading, readPages } from './reading-pages.ts'

const root = temporaryFolder()
process.env.RL_RUNS = root
const a = recordLoop(root, 'run', smallConfig())
const b = recordLoop(root, 'other', smallConfig({ simulation: { steps: 3, learningRate: 3 } }))
const [ended] = [...a.events({ types: ['IterationCompleted'] })].filter(({ data }) => data.iteration === 1)
forkRun(runFolder('run', root), runFolder('fork', root), {
  at: ended.position,
  set: ['learning.lambda=0.5'],
})
const expected = diffRuns(a, b)
for (const log of [a, b]) log.close()

test('two to four runs can be chosen', () => {
  assert.equal(toggled(['a', 'b'], 'a'), ['b'])
  assert.equal(toggled(['a', 'b', 'c', 'd'], 'e'), ['b', 'c', 'd', 'e'])
  assert.is(pathOfComparison(['a']), null)
  assert.is(pathOfComparison(['a', 'b/c']), '/compare?a=a&b=b%2Fc')
})

const compare = async ({ ask }: Reading, query: string) =>
  (await ask(`/api/compare?${query}`)) as { status: number; body: ComparePage & { code?: string } }

test('a comparison has the figures of rl diff, and lists tasks that flip', async () => {
  await readPages('/', async (reading) => {
    const { body } = await compare(reading, 'a=run&b=other')
    assert.equal(body.figures, JSON.parse(JSON.stringify(expected.figures)))
    assert.is(body.divergence?.key, expected.divergence?.key)
    assert.is(body.divergence?.a?.position, expected.divergence?.a)
    assert.equal(
      body.config.map(({ key }) => key),
      ['simulation.learningRate'],
    )
    const last = body.groups[body.groups.length - 1]
    const { tasks, same } = (await compare(reading, `a=run&b=other&group=${encodeURIComponent(last)}`)).body
    const own = expected.tasks.filter(({ group }) => group === last)
    assert.is(tasks.length + same, own.length)
    assert.ok(tasks.every((task) => task.a !== task.b))
    assert.is((await compare(reading, 'a=run&b=nobody')).body.code, 'run.unknown')
    assert.is((await compare(reading, 'a=run')).status, 404)
  })
})

test('a fork begins its curve where it left its parent', async () => {
  await readPages('/', async ({ ask }) => {
    let curves: readonly RunCurve[] = []
    for (
      let tries = 0;
      tries < 200 && !(curves.length > 0 && curves.every(({ complete }) => complete));
      tries++
    )
      curves = (await ask('/api/curves?runs=run,fork,other')).body as readonly RunCurve[]
    const iterations = curves.map(({ success }) => success.map(({ iteration }) => iteration))
    assert.ok(iterations[0].includes(1))
    assert.not(iterations[1].includes(1))
    assert.ok(iterations[2].includes(1))
    assert.is(((await ask('/api/compare?a=run&b=fork')).body as ComparePage).shared, ended.position)
  })
})

if (hasBrowser())
  test('two runs of the list are compared by mouse, and by keyboard', async () => {
    await readPages('/', async (reading) => {
      await browse(reading, async (page) => {
        await page.getByLabel('compare run', { exact: true }).check()
        await page.getByText('run is chosen').waitFor()
        await page.getByLabel('compare other').check()
        await page.getByRole('link', { name: 'compare run, other' }).waitFor()
        await page.keyboard.press('Tab')
        await page.keyboard.press('c')
        await page.getByRole('heading', { name: 'Tasks that flip' }).waitFor()
        await page.getByText('simulation.learningRate').waitFor()
        await page.getByRole('img', { name: /success in training/ }).waitFor()
      })
    })
  })

test.run()
