import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { LATE_LOOP_MS, limitLine, limitsOf, openAsked } from '../../../src/actors/head/limits.ts'
import { loadConfig, loggable } from '../../../src/config.ts'
import { MOST_UNACKNOWLEDGED } from '../../../src/events/bus.ts'
import type { NewEvent } from '../../../src/events/catalogue.ts'

const FREE = {
  ...{ queues: [], pausedSince: null, openWork: 0, asked: null, slots: 64, trouble: null },
  loopDelay: { p99Ms: 2, maxMs: 900 },
}
const linesOf = (measured: Parameters<typeof limitsOf>[0]) => limitsOf(measured).map(limitLine)

/** What the fold reads of an event. */
const event = (type: string, data: object) => ({ type, data }) as unknown as NewEvent
const logOf = (events: readonly NewEvent[]): Parameters<typeof openAsked>[0] => ({
  *events() {
    yield* events as never[]
  },
})
const started = (...set: readonly string[]) =>
  event('RunStarted', {
    config: loggable(
      loadConfig({ set: ['environment.tasksPerIteration=4', 'environment.rolloutsPerTask=8', ...set] }),
    ),
  })

test('no more may be asked for than the versions and the staleness allow', () => {
  const asked = openAsked(logOf([started('run.maxStaleness=2', 'run.iterations=9')]))
  assert.equal(asked.now(), { asked: 0, most: 64 })
  const see = (type: string, data: object) => asked.see(event(type, data))
  see('PolicyUpdated', { version: 4 })
  see('RewardModelUpdated', { version: 3 })
  see('IterationStarted', { iteration: 6 })
  assert.equal(asked.now(), { asked: 192, most: 192 })
  see('RewardModelUpdated', { version: 4 })
  assert.equal(asked.now(), { asked: 192, most: 224 })
  see('IterationStarted', { iteration: 9 })
  assert.is(asked.now(), null)
})

test('a log that is gone on with is read, and one without a config has no limit', () => {
  const events = [
    started(),
    event('PolicyUpdated', { version: 0 }),
    event('RewardModelUpdated', { version: 0 }),
  ]
  assert.equal(openAsked(logOf([...events, event('IterationStarted', { iteration: 1 })])).now(), {
    ...{ asked: 32, most: 32 },
  })
  assert.is(openAsked(logOf([event('RunStarted', { config: {} })])).now(), null)
})

test('asked work holds a run back only if slots are free', () => {
  const asked = { asked: 512, most: 512 }
  assert.equal(linesOf({ ...FREE, asked }), ['limit: asked-work 512 of 512 rollouts'])
  assert.equal(linesOf({ ...FREE, asked, openWork: 64 }), [])
  assert.equal(linesOf({ ...FREE, asked: { asked: 480, most: 512 } }), [])
})

test('messages in hand, the store and the loop have names too', () => {
  const full = { name: 'RolloutRequested', pending: 7, inHand: MOST_UNACKNOWLEDGED, again: 0 }
  assert.equal(
    linesOf({
      ...FREE,
      queues: [full, { ...full, name: 'work-policy', pending: 0 }],
      pausedSince: 5,
      trouble: { pieces: 12, since: 5, error: 'insufficient storage' },
      loopDelay: { p99Ms: LATE_LOOP_MS + 1, maxMs: 900 },
    }),
    [
      'limit: unacknowledged 10000 of 10000 messages (RolloutRequested)',
      'limit: store (the disk of the log is nearly full)',
      'limit: store 12 pieces of work (the broker takes no work: insufficient storage)',
      'limit: loop-delay 101 of 100 ms',
    ],
  )
  assert.equal(linesOf(FREE), [])
})

test.run()
