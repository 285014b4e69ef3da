import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { type Planned, plannedRuns, playAll } from '../../src/ablation/schedule.ts'

const SETTINGS = ['before', 'outcome-only', 'policy'] as const
const nameOf = ({ setting, seed }: Planned) => `${setting}/${seed}`

/** Plays by hand: what began and has not ended yet, and an end for each. */
function table() {
  const open = new Map<string, () => void>()
  const starting = new Map<string, () => void>()
  const turns = async () => {
    for (let turn = 0; turn < 10; turn++) await Promise.resolve()
  }
  return {
    open,
    play(run: Planned, started: () => void) {
      starting.set(nameOf(run), started)
      return new Promise<void>((resolve) => open.set(nameOf(run), resolve))
    },
    /** The run's cold starts are made. It plays on. */
    async started(name: string) {
      starting.get(name)?.()
      await turns()
    },
    async end(name: string) {
      open.get(name)?.()
      open.delete(name)
      await turns()
    },
  }
}

test('seeds are the outer order, and what is there is left out', () => {
  const runs = plannedRuns(SETTINGS, 2, [{ setting: 'outcome-only', seed: 1 }])
  assert.equal(runs.map(nameOf), ['before/1', 'policy/1', 'before/2', 'outcome-only/2', 'policy/2'])
})

test('the first run of a seed is alone of its seed until it has ended; another seed fills the place', async () => {
  const { open, play, end } = table()
  const all = playAll(plannedRuns(SETTINGS, 2, []), { parallel: 2, mayBegin: () => true, play })
  assert.equal([...open.keys()], ['before/1', 'before/2'])
  await end('before/1')
  assert.equal([...open.keys()], ['before/2', 'outcome-only/1'])
  await end('before/2')
  assert.equal([...open.keys()], ['outcome-only/1', 'policy/1'])
  await end('policy/1')
  await end('outcome-only/1')
  assert.equal([...open.keys()], ['outcome-only/2', 'policy/2'])
  await end('outcome-only/2')
  await end('policy/2')
  await all
})

test('while a run makes the start of a judge, runs without that judge take the place of those with it', async () => {
  const { open, play, started, end } = table()
  const startsOf = ({ setting, seed }: Planned) =>
    setting === 'policy' ? [`policy ${seed}`, 'judge'] : [`policy ${seed}`]
  const runs = plannedRuns(['policy', 'outcome-only'], 2, [])
  const all = playAll(runs, { parallel: 2, mayBegin: () => true, startsOf, play })
  assert.equal([...open.keys()], ['policy/1', 'outcome-only/2'])
  await end('outcome-only/2')
  assert.equal([...open.keys()], ['policy/1'], 'the other runs wait for a start')
  await started('policy/1')
  assert.equal([...open.keys()], ['policy/1', 'outcome-only/1'], 'its starts are made, and it is not over')
  await end('outcome-only/1')
  assert.equal([...open.keys()], ['policy/1', 'policy/2'])
  await end('policy/1')
  await end('policy/2')
  await all
})

test('a budget lets what runs end, and nothing more begin', async () => {
  const { open, play, end } = table()
  let left = 2
  const all = playAll(plannedRuns(SETTINGS, 3, []), { parallel: 2, mayBegin: () => left-- > 0, play })
  assert.is(open.size, 2)
  await end('before/1')
  await end('before/2')
  await all
  assert.is(open.size, 0)
})

test('an error lets what runs end, begins nothing more, and is thrown', async () => {
  let ended = 0
  const played: string[] = []
  const all = playAll(plannedRuns(SETTINGS, 3, []), {
    parallel: 2,
    mayBegin: () => true,
    async play(run) {
      played.push(nameOf(run))
      if (run.seed === 1) throw new Error('broken')
      await new Promise(setImmediate)
      ended++
    },
  })
  const error = await all.then(
    () => null,
    (reason: Error) => reason,
  )
  assert.is(error?.message, 'broken')
  assert.equal(played, ['before/1', 'before/2'])
  assert.is(ended, 1)
})

test.run()
