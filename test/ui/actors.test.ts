/** The page of actors: charts of every machine, and what a living head tells of its processes. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { statesOf } from '../../src/actors/decider/chart.ts'
import { decidersOf } from '../../src/actors/deciders.ts'
import { parseConfig } from '../../src/config.ts'
import type { RlError } from '../../src/errors.ts'
import type { ActorRow } from '../../src/ui/logic/answers.ts'
import { drawingOf, PLACES } from '../../src/ui/logic/chart.ts'
import { hostsOf } from '../../src/ui/logic/hosts.ts'
import { actorsPage } from '../../src/ui/server/actors.ts'
import { densityPage } from '../../src/ui/server/density.ts'
import { openRuns } from '../../src/ui/server/open-runs.ts'
import { startTestHead, temporaryFolder, until } from '../support/run.ts'
import { madeEvents, writeRun } from './made-run.ts'

test('every state of every machine has a place of its own in its chart', () => {
  const deciders = decidersOf(parseConfig({}))
  assert.equal(Object.keys(PLACES).sort(), deciders.map(({ role }) => role).sort())
  for (const { role, machine } of deciders) {
    const leaves = statesOf(machine)
      .filter((node) => Object.keys(node.states).length === 0)
      .map((node) => node.path.join('.'))
    assert.equal(Object.keys(PLACES[role]).sort(), [...leaves].sort(), role)
    const places = Object.values(PLACES[role]).map(String)
    assert.is(new Set(places).size, places.length, `${role}: no two states in one place`)
  }
})

test('a drawing shows every state and every way between them, and nothing lies outside', async () => {
  const root = temporaryFolder()
  process.env.RL_RUNS = root
  writeRun(root, 'made', madeEvents(4))
  const runs = openRuns()
  try {
    const run = runs.open('made')
    const end = run.log.head().position
    let page = await actorsPage(run, end, true)
    await until('the states are built', async () => {
      page = await actorsPage(run, end, true)
      return page.waits !== null && page.built === 1
    })
    assert.is(page.live, null)
    assert.match(page.whyNot ?? '', 'no head')
    await until('the figures are folded', async () => {
      page = await actorsPage(run, end, true)
      return page.hosts !== null && page.hosts.length > 0
    })
    const played = madeEvents(4).filter(
      ({ type, data }) =>
        type === 'TrajectoryCompleted' && (data as { purpose: string }).purpose !== 'evaluation',
    )
    assert.is(
      page.hosts?.reduce((sum, { rollouts }) => sum + rollouts, 0),
      played.length,
    )
    assert.is((await actorsPage(run, 100, false)).hosts, null)
    for (const machine of page.machines) {
      assert.is(machine.state, 'finished')
      const { states, groups, arrows, width, height } = drawingOf(machine)
      assert.is(states.length + groups.length, machine.states.length)
      for (const box of [...states, ...groups]) {
        assert.ok(box.x >= 0 && box.y >= 0, `${machine.role} ${box.path}`)
        assert.ok(box.x + box.width <= width && box.y + box.height <= height, `${machine.role} ${box.path}`)
      }
      const ways = machine.arrows.filter(({ from, to }) => from !== to).map(({ from, to }) => `${from} ${to}`)
      assert.equal(arrows.map(({ from, to }) => `${from} ${to}`).sort(), [...new Set(ways)].sort())
    }
    const past = await actorsPage(run, 100, false)
    assert.match(past.whyNot ?? '', 'the past')
    assert.ok(past.machines.every(({ state }) => state !== null))
  } finally {
    runs.close()
  }
})

test('a living head tells its processes, their memory and its queues', async () => {
  const root = temporaryFolder()
  process.env.RL_RUNS = root
  const head = await startTestHead({ root, run: 'alive' })
  const runs = openRuns()
  try {
    for (const { type, data } of madeEvents(1).slice(0, 40)) head.service.append([{ type, data } as never])
    await until('the queues are told', async () => {
      const run = runs.open('alive')
      const page = await actorsPage(run, run.log.head().position, true)
      return page.live !== null && (page.queues?.length ?? 0) >= 6
    })
  } finally {
    runs.close()
    await head.close()
  }
})

test('a log that no decider can read costs the states alone', async () => {
  const root = temporaryFolder()
  process.env.RL_RUNS = root
  const events = madeEvents(1)
  // Without a start, nobody knows the config.
  writeRun(root, 'headless', events.slice(1))
  const runs = openRuns()
  try {
    const run = runs.open('headless')
    let page = await actorsPage(run, 20, true)
    await until('the thread has ended', async () => {
      page = await actorsPage(run, 20, true)
      return page.unread !== null
    })
    assert.match(page.unread ?? '', 'RunStarted')
    assert.is(page.machines.length, 5)
    assert.is((await densityPage(run)).counts.length, 0)
    let code = ''
    await run.past.ask('states', { at: 3, context: null }).catch((error: RlError) => {
      code = error.code
    })
    assert.is(code, 'ui.past')
  } finally {
    runs.close()
  }
})

test('memory of a host counts a process once', () => {
  const row = (host: string, pid: number, rssMb: number) => ({ host, pid, rssMb }) as ActorRow
  assert.equal(hostsOf([row('a', 1, 10), row('a', 1, 12), row('b', 1, 50), row('a', 2, 5)]), [
    { host: 'b', processes: 1, rssMb: 50 },
    { host: 'a', processes: 2, rssMb: 17 },
  ])
})

test.run()
