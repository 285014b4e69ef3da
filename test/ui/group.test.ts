/** The page of a group: all rollouts of one task, side by side. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { runFolder } from '../../src/broker/connection.ts'
import { openLogReader } from '../../src/events/log-reader.ts'
import type { GroupPage } from '../../src/ui/logic/group-page.ts'
import { firstParting, partingStep } from '../../src/ui/logic/parting.ts'
import { copyRun, unpackFixture } from '../replay/fixture.ts'
import { temporaryFolder } from '../support/run.ts'
import { browse, hasBrowser, readPages } from './reading-pages.ts'

process.env.RL_RUNS = temporaryFolder()
const source = unpackFixture(process.env.RL_RUNS)
const log = openLogReader(source.log)
const plan = [...log.events({ types: ['IterationPlanned'] })][0].data
const { slot } = plan.groups[0]
const trajectories = [...log.events({ types: ['TrajectoryCompleted'] })].filter(
  ({ data }) => data.iteration === plan.iteration && data.slot === slot && data.purpose !== 'evaluation',
)
const evaluation = [...log.events({ types: ['TrajectoryCompleted'] })].find(
  ({ data }) => data.purpose === 'evaluation',
)
log.close()

test('rollouts part at the first step that differs, or at the end of the shorter one', () => {
  assert.is(partingStep(['a', 'b'], ['a', 'c']), 1)
  assert.is(partingStep(['a'], ['a', 'b']), 1)
  assert.is(partingStep(['a'], ['a']), null)
  assert.is(firstParting([['a', 'b'], ['a', 'b'], ['a']]), 1)
  assert.is(firstParting([['a']]), null)
  assert.is(firstParting([]), null)
})

test('a group has the actions of the log, and advantages once its update is there', async () => {
  await readPages('/r/run', async ({ get, ask }) => {
    const group = await get<GroupPage>(`/groups/${plan.iteration}/${slot}`)
    assert.is(group.members.length, plan.rolloutsPerTask)
    for (const { data } of trajectories) {
      const member = group.members.find(({ cell }) => cell.rollout === data.rollout)
      assert.equal(
        member?.steps.map(({ action }) => action),
        data.actions,
      )
      assert.type(member?.reward, 'number')
    }
    const early = await get<GroupPage>(
      `/groups/${plan.iteration}/${slot}?at=${Math.min(...trajectories.map(({ position }) => position))}`,
    )
    assert.is(early.members.filter(({ steps }) => steps.length > 0).length, 1)
    assert.is(early.members.find(({ steps }) => steps.length > 0)?.reward, null)
    const heldOut = await get<GroupPage>(`/groups/${evaluation?.data.iteration}/${evaluation?.data.slot}`)
    assert.is(heldOut.purpose, 'evaluation')
    assert.is(heldOut.members[0].advantage, null)
    const missing = await ask(`/api/r/run/groups/${plan.iteration}/nowhere`)
    assert.is(missing.status, 404)
    assert.match(JSON.stringify(missing.body), slot)
  })
})

test("a run with a user's own rules is shown without its rewards", async () => {
  copyRun(source, runFolder('ruled', process.env.RL_RUNS), {
    change(event) {
      if (event.type !== 'RunStarted') return event
      const { config } = event.data
      const learning = { ...(config.learning as object), advantage: 'mine', module: './nowhere/rules.ts' }
      return { ...event, data: { ...event.data, config: { ...config, learning } } }
    },
  })
  await readPages('/r/ruled', async ({ ask }) => {
    const group = await ask(`/api/r/ruled/groups/${plan.iteration}/${slot}`)
    assert.is(group.status, 200)
    assert.is((group.body as GroupPage).members[0].reward, null)
    assert.is((await ask(`/api/r/ruled/rollouts/${plan.iteration}/${slot}/0`)).status, 200)
  })
})

if (hasBrowser())
  test('a task of an iteration is one click from its heat map, and h and l walk the rollouts', async () => {
    await readPages(`/r/run/i/${plan.iteration}`, async (reading) => {
      await browse(reading, async (page) => {
        await page.getByRole('link', { name: slot, exact: true }).click()
        await page.getByText('they part', { exact: true }).waitFor()
        await page.keyboard.press('l')
        await page.getByText('rollout 1', { exact: true }).waitFor()
        await page.keyboard.press('h')
        await page.getByText('rollout 0', { exact: true }).waitFor()
        await page.locator('td a').first().click()
        await page.locator('tr[aria-selected=true]').waitFor()
        await page.keyboard.press('l')
        await page.getByRole('heading', { name: `${plan.iteration}/${slot}/1` }).waitFor()
      })
    })
  })

test.run()
