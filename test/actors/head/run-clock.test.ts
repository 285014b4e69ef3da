/** The time of a run: what counts, and with which iteration it ends. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { beginIteration, newClock, skip, tick, timeEnds } from '../../../src/actors/head/run-clock.ts'

const MINUTE = 60_000

/** A run that measures for 2 minutes, then trains 3 minutes an iteration. */
function afterIterations(completed: number) {
  const clock = newClock()
  tick(clock, 1)
  beginIteration(clock, 0)
  tick(clock, 1 + 2 * MINUTE)
  beginIteration(clock, 1)
  for (let i = 1; i <= completed; i++) tick(clock, 1 + (2 + 3 * i) * MINUTE)
  return clock
}

test('the last iteration leaves time for the last measurement', () => {
  // The first iteration is not known yet: 2 + 2 minutes of measurements.
  assert.is(timeEnds(afterIterations(0), 0, 5), false)
  assert.is(timeEnds(afterIterations(0), 0, 3.9), true)
  // 8 minutes are over: two further iterations end at 14, and the measurement at 16.
  assert.is(timeEnds(afterIterations(2), 2, 16), false)
  assert.is(timeEnds(afterIterations(2), 2, 15.9), true)
  assert.is(timeEnds(afterIterations(2), 2, undefined), false)
})

test('pauses, and clocks that are set back, do not count', () => {
  const clock = newClock()
  tick(clock, 1)
  tick(clock, 1 + MINUTE)
  skip(clock, 1 + 500 * MINUTE)
  tick(clock, 1 + 501 * MINUTE)
  assert.is(clock.activeMs, 2 * MINUTE)
  tick(clock, 1)
  assert.is(clock.activeMs, 2 * MINUTE)
})

test.run()
