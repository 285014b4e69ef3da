import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { follow, startProgress } from '../../../src/actors/head/terminal/progress.ts'
import type { LoggedEvent } from '../../../src/events/catalogue.ts'
import { heldFor } from '../../../src/events/run-turn.ts'
import { readFixtures, sampleOf } from '../../events/samples.ts'

const MINUTE = 60_000

test('an hour in which the run stood still counts for its iteration, and not for what is left', () => {
  const progress = startProgress(10)
  const lines: string[] = []
  let time = 0
  const samples = new Map(readFixtures().map((fixture) => [fixture.type, sampleOf(fixture)]))
  const say = (type: string, iteration: number) => {
    const data = { ...samples.get(type)?.data, iteration }
    lines.push(...follow(progress, { type, time, position: 1, data } as unknown as LoggedEvent))
  }
  for (let iteration = 1; iteration <= 3; iteration++) {
    say('IterationStarted', iteration)
    time += iteration === 2 ? 62 * MINUTE : 2 * MINUTE
    say('IterationCompleted', iteration)
  }
  const told = lines.filter((line) => line.startsWith('iteration '))
  assert.match(told[1], /\| 3720\.0 s \|/)
  assert.match(told[2], /\| 120\.0 s \| left 14 min$/)
})

test('rollouts that ended where the context did are counted', () => {
  const progress = startProgress(3)
  const samples = new Map(readFixtures().map((fixture) => [fixture.type, sampleOf(fixture)]))
  const say = (type: string, more: object) => {
    const data = { ...samples.get(type)?.data, ...more }
    return follow(progress, { type, time: 0, position: 1, data } as unknown as LoggedEvent)
  }
  say('IterationStarted', { iteration: 1 })
  for (const ended of ['context', 'goal', 'context']) say('TrajectoryCompleted', { ended, purpose: 'train' })
  assert.match(say('IterationCompleted', { iteration: 1 })[0], /\| 2 ended at the context's end \|/)
  say('IterationStarted', { iteration: 2 })
  assert.not.match(say('IterationCompleted', { iteration: 2 })[0], /context/)
})

test('a version that a server did not take is told, with what answers in its place', () => {
  const url = 'http://127.0.0.1:1/v1'
  const told = (serving: number, ...states: readonly string[]) => {
    const replicas = states.map((state) => ({ url, state, error: state === 'done' ? null : 'no room' }))
    const event = { type: 'PolicyPublished', data: { version: 3, serving, replicas } }
    return follow(startProgress(10), event as unknown as LoggedEvent)
  }
  assert.equal(told(3, 'done', 'done'), [])
  assert.equal(told(3, 'done', 'refused'), [`policy 3 was not taken by ${url}: no room`])
  assert.is(told(1, 'refused').at(-1), 'policy 3: version 1 answers in its place')
  assert.is(told(0, 'timed-out').at(-1), 'policy 3: the model of the config answers in its place')
})

test('a pause of a person names the command that goes on, and another pause its reason', () => {
  const told = (type: 'RunPaused' | 'RunResumed', reason: string) =>
    follow(startProgress(10), { type, run: 'r1', data: { reason } } as unknown as LoggedEvent)
  const held = 'paused by a person: lunch; npm run -s rl -- resume r1 goes on'
  assert.equal(told('RunPaused', heldFor('lunch')), [held])
  assert.equal(told('RunPaused', 'the disk is full'), ['paused: the disk is full'])
  assert.equal(told('RunResumed', 'resumed by a person: back'), ['resumed by a person: back'])
  assert.equal(told('RunResumed', 'the disk takes events again'), ['goes on: the disk takes events again'])
})

test.run()
