import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { follow, goOn, startProgress } from '../../../src/actors/head/terminal/progress.ts'
import type { LoggedEvent } from '../../../src/events/catalogue.ts'
import { openLogReader } from '../../../src/events/log-reader.ts'
import { heldFor } from '../../../src/events/run-turn.ts'
import { readFixtures, sampleOf } from '../../events/samples.ts'
import { unpackFixture } from '../../replay/fixture.ts'
import { temporaryFolder } from '../../support/run.ts'

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
  assert.match(told[1], / 62 min {2}left /)
  assert.match(told[2], / 2 min {2}left 14 min /)
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
  const [alarm, line] = say('IterationCompleted', { iteration: 1 })
  assert.is(alarm, "2 rollouts of iteration 1 ended at the context's end")
  assert.match(line, /^iteration 1\/3 /)
  say('IterationStarted', { iteration: 2 })
  assert.is(say('IterationCompleted', { iteration: 2 }).length, 1)
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

/** The lines of a run of `iterations`, of which the last one has large numbers and whatever can go wrong. */
function large({ width, iterations }: { readonly width?: number; readonly iterations: number }) {
  const progress = startProgress(iterations, width)
  const samples = new Map(readFixtures().map((fixture) => [fixture.type, sampleOf(fixture)]))
  let time = 0
  const say = (type: string, more: object) => {
    const data = { ...samples.get(type)?.data, ...more }
    const run = 'r20261231t235959'
    return follow(progress, { run, type, time, position: 1, data } as unknown as LoggedEvent)
  }
  for (let iteration = 1; iteration < iterations; iteration++) {
    say('IterationStarted', { iteration })
    for (let n = 0; n < 12; n++) say('TaskAccepted', {})
    time += 89 * MINUTE
    say('IterationCompleted', { iteration, accuracy: { successes: iteration, n: iterations } })
  }
  say('IterationStarted', { iteration: iterations })
  say('TrajectoryJudged', {})
  say('RolloutFailed', { purpose: 'train' })
  say('ProgramFlaky', {})
  say('TrajectoryCompleted', { ended: 'context', purpose: 'train' })
  time += 89 * MINUTE
  return [
    ...say('EvaluationCompleted', {
      policyVersion: iterations,
      split: 'in-domain',
      rollouts: { successes: 100_000, n: 100_000 },
      meanSteps: 100.5,
      failed: 1000,
    }),
    ...say('IterationCompleted', { iteration: iterations, accuracy: { successes: 128_000, n: 128_000 } }),
  ]
}

test('no line of an iteration is wider than a terminal, and what went wrong has lines of its own', () => {
  for (const width of [100, 88])
    for (const iterations of [3, 60, 999, 10_000]) {
      const lines = large({ width, iterations })
      for (const line of lines.slice(1)) assert.ok(line.length <= width, `${line.length}: ${line}`)
      assert.equal(lines.slice(1, -1), [
        `1 rollout of iteration ${iterations} failed: rl log r20261231t235959 tail --type RolloutFailed`,
        '  infra 1, e.g. error',
        `1 flaky program in iteration ${iterations}: rl log r20261231t235959 tail --type ProgramFlaky`,
        `1 rollout of iteration ${iterations} ended at the context's end`,
      ])
      assert.ok(lines[0].length <= 100, lines[0])
    }
})

test('the last iterations are drawn in the columns that are left', () => {
  assert.match(large({ iterations: 3 }).at(-1)!, / left 0 s {5}▃▆█$/)
  assert.match(large({ iterations: 60 }).at(-1)!, / left 0 s {5}[▁-█]*█$/)
  const narrow = large({ iterations: 60, width: 60 }).at(-1)!
  assert.match(narrow, /^iteration 60\/60 {2}accuracy 1\.00 \[1\.00, 1\.00\] {2}judge - {2}[▁-█]{6}$/)
})

const root = temporaryFolder()

test('each line of a real run fits, and a run that goes on draws the iterations before it', () => {
  const { log: path } = unpackFixture(root)
  const log = openLogReader(path)
  const progress = startProgress(2)
  const lines = [...log.events()].flatMap((event) => follow(progress, event))
  for (const line of lines) assert.ok(line.length <= 100 || line.startsWith('stalled: '), line)
  assert.is(lines.filter((line) => line.startsWith('iteration ')).length, 2)
  const resumed = startProgress(2)
  const position = goOn(resumed, log)
  assert.ok(position > 0)
  assert.equal(resumed.accuracies, progress.accuracies.slice(0, 1))
  const last = [...log.events({ from: position + 1 })].flatMap((event) => follow(resumed, event))
  assert.is(
    last.findLast((line) => line.startsWith('iteration ')),
    lines.findLast((line) => line.startsWith('iteration ')),
  )
  log.close()
})

test('figures of a cold start are wrapped between figures', () => {
  const names = ['demonstrations', 'failedDemonstrations', 'demonstrationsTooLong', 'loss', 'parameters']
  const metrics = Object.fromEntries(names.map((name) => [name, -123_456.7]))
  const event = { type: 'PolicyUpdated', data: { version: 0, metrics } } as unknown as LoggedEvent
  const lines = follow(startProgress(3), event)
  assert.is(lines.length, 2)
  for (const line of lines) assert.match(line, /^.{1,100}$/)
  assert.is(
    lines.join(' ').replace(/\s+/g, ' '),
    `policy ready: ${names.map((name) => `${name} -123000`).join(', ')}`,
  )
})

test.run()
