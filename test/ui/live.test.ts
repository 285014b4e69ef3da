/** What a page is told of new events, and what is kept between its questions. */
import { renameSync, rmSync } from 'node:fs'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { runFolder } from '../../src/broker/connection.ts'
import type { LoggedEvent } from '../../src/events/catalogue.ts'
import { openLogReader } from '../../src/events/log-reader.ts'
import { forkRun } from '../../src/replay/fork.ts'
import { marksApart } from '../../src/ui/logic/strip.ts'
import { eventsPage, MOST_ROWS } from '../../src/ui/server/events.ts'
import { textOf } from '../../src/ui/server/notable.ts'
import { openRuns } from '../../src/ui/server/open-runs.ts'
import { overview } from '../../src/ui/server/overview.ts'
import { runRows } from '../../src/ui/server/run-rows.ts'
import { tasksPage } from '../../src/ui/server/tasks.ts'
import { temporaryFolder, until } from '../support/run.ts'
import { madeEvents, writeRun } from './made-run.ts'

const root = temporaryFolder()
process.env.RL_RUNS = root
const events = madeEvents(6)
const made = writeRun(root, 'run', events)
const ends = events.filter(({ type }) => type === 'IterationCompleted').map(({ position }) => position)

test('the types of a range are those of its events, in a fork too', () => {
  const at = ends[2]
  forkRun(made, runFolder('fork', root), { at, set: [] })
  const range = (from: number, until: number) =>
    [...new Set(events.slice(from - 1, until).map(({ type }) => type))].sort()
  const log = openLogReader(made.log)
  const fork = openLogReader(runFolder('fork', root).log)
  for (const [from, last] of [
    [1, 1],
    [at - 20, at],
    [at + 1, at + 30],
    [5, 4],
  ])
    assert.equal([...log.typesBetween(from, last)].sort(), range(from, last))
  assert.equal(
    [...fork.typesBetween(at - 20, at + 1)].sort(),
    [...new Set([...range(at - 20, at), 'RunStarted'])].sort(),
  )
  log.close()
  fork.close()
})

test('a fork began when it left its parent, so it is the newest run', async () => {
  const [newest, oldest] = await runRows()
  assert.equal([newest.run, oldest.run], ['fork', 'run'])
  assert.ok(newest.startedAt! > oldest.startedAt!)
  const runs = openRuns()
  assert.is(runs.open('latest').folder.run, 'fork')
  runs.close()
})

test('a log in the place of another is read, not the one that was there', () => {
  writeRun(root, 'again', madeEvents(2))
  const runs = openRuns()
  const before = runs.open('again')
  assert.is(runs.open('again'), before)
  // The file that is gone stays on the disk, so that the new one has another number.
  renameSync(before.folder.folder, `${before.folder.folder}-old`)
  writeRun(root, 'again', madeEvents(4))
  const after = runs.open('again').log.newest(['IterationCompleted'])
  assert.is(after?.type === 'IterationCompleted' && after.data.iteration, 4)
  runs.close()
  rmSync(`${before.folder.folder}-old`, { recursive: true })
  rmSync(before.folder.folder, { recursive: true })
})

test('words on an accepted task name its direction once', () => {
  const accepted = (reason: string) =>
    textOf({ type: 'TaskAccepted', data: { slot: 'a', direction: 'harder', reason } } as LoggedEvent)
  assert.is(accepted('harder and within reach'), 'a: harder and within reach')
  assert.is(accepted('by the own rule'), 'a: harder, by the own rule')
})

test('an answer of what is kept is the answer of a new reader, at any position and in any order', async () => {
  const runs = openRuns()
  const run = runs.open('run')
  const first = overview(run, events.length)
  // The cache may have the figures from an earlier run of this test.
  assert.is(first.verdict.text.includes('still being read'), !first.complete)
  await until('the figures are folded', () => overview(run, events.length).complete)
  const asked = [ends[4], ends[1], 40, events.length, ends[1], ends[4] - 3]
  const answers = asked.map((at) => [overview(run, at), tasksPage(run, at, true)])
  for (const [i, at] of asked.entries()) {
    const fresh = openRuns()
    assert.equal([overview(fresh.open('run'), at), tasksPage(fresh.open('run'), at, true)], answers[i])
    fresh.close()
  }
  runs.close()
})

test('the end of the list of events is the end of the log, however few of them are folded', () => {
  const log = openLogReader(made.log)
  const end = events.length
  const { rows, last, next, previous } = eventsPage(log, end, { types: [], folds: true })
  assert.is(rows.at(-1)?.position, end)
  assert.is(last, end)
  assert.is(next, null)
  assert.ok(rows.length <= MOST_ROWS && previous !== null && previous < rows[0].position)
  const all = [...log.events({ types: ['TrajectoryJudged', 'TrajectoryCompleted'] })].length
  assert.ok(all > MOST_ROWS, 'more rows than one answer holds')
  log.close()
})

test('tasks that were accepted stand first', () => {
  const runs = openRuns()
  const { lanes } = tasksPage(runs.open('run'), events.length, true)
  const isAccepted = lanes.map(({ marks }) => marks.some(({ kind }) => kind === 'accepted'))
  assert.equal(
    isAccepted,
    [...isAccepted].sort((a, b) => Number(b) - Number(a)),
  )
  assert.ok(isAccepted[0])
  runs.close()
})

test('marks that lie near one another stand as one', () => {
  const mark = (position: number, kind: 'stall' | 'turn' = 'stall') => ({
    position,
    kind,
    text: `${position}`,
    run: null,
  })
  const apart = marksApart([mark(500), mark(10), mark(40), mark(20, 'turn'), mark(900)], 1000)
  assert.equal(
    apart.map(({ position, text }) => [position, text]),
    [
      [10, '10, and 1 more'],
      [500, '500'],
      [900, '900'],
    ],
  )
})

test.run()
