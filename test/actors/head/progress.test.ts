import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { follow, startProgress } from '../../../src/actors/head/terminal/progress.ts'
import type { LoggedEvent } from '../../../src/events/catalogue.ts'
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

test.run()
