import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { runFolder } from '../../src/broker/connection.ts'
import { RlError } from '../../src/errors.ts'
import type { LoggedEvent } from '../../src/events/catalogue.ts'
import { type LogReader, openLogReader } from '../../src/events/log-reader.ts'
import { type Bisect, bisect } from '../../src/replay/bisect.ts'
import { changesBetween } from '../../src/replay/changes.ts'
import { forkRun } from '../../src/replay/fork.ts'
import { ofType } from '../../src/replay/why.ts'
import { smallConfig } from '../actors/loop.ts'
import { temporaryFolder } from '../support/run.ts'
import { unpackFixture } from './fixture.ts'
import { recordLoop } from './record.ts'

const ITERATIONS = 8
const config = smallConfig({
  run: { iterations: ITERATIONS },
  environment: { tasks: 4, tasksPerIteration: 4 },
})
const root = temporaryFolder()
const sound = recordLoop(root, 'sound', config)
test.after(() => sound.close())

function checkBound({ changes, runs }: Bisect): void {
  assert.ok(changes > 4, `${changes} changes`)
  assert.ok(runs.length <= Math.ceil(Math.log2(changes)) + 1, `${runs.length} runs for ${changes} changes`)
}

function codeOf(log: LogReader, metric: string, good: number, bad: number): string {
  try {
    bisect(log, { metric, good, bad })
    return 'found'
  } catch (error) {
    if (error instanceof RlError) return error.code
    throw error
  }
}

function withAccuracy(event: LoggedEvent<'IterationCompleted'>, successes: number): LoggedEvent {
  return { ...event, data: { ...event.data, accuracy: { successes, n: 16 } } }
}

test('a task that nobody can solve is found as the cause of a fall of accuracy', () => {
  const swaps = ofType(sound, 'TaskAccepted').filter(({ data }) => data.iteration > 1)
  const { task } = swaps[Math.floor(swaps.length / 2)].data
  const spoiled = recordLoop(root, 'task', config, (event) => {
    if (event.type === 'IterationCompleted' && event.data.iteration === 1) return withAccuracy(event, 14)
    if (event.type === 'IterationCompleted' && event.data.iteration === ITERATIONS)
      return withAccuracy(event, 2)
    if (event.type !== 'TaskProposed' || event.data.task.id !== task) return event
    const recipe = { difficulty: 90 }
    return { ...event, data: { ...event.data, task: { ...event.data.task, recipe } } }
  })
  const found = bisect(spoiled, { metric: 'accuracy', good: 1, bad: ITERATIONS })
  assert.is(found.cause.kind, 'task-swap')
  assert.match(found.cause.what, new RegExp(`${task} in place of`))
  assert.is(found.simulated, true)
  checkBound(found)
  spoiled.close()
})

test('a reward model that turned round is found as the cause of a fall of skill', () => {
  const spoiled = recordLoop(root, 'judge', config, (event) => {
    if (event.type === 'RewardModelUpdated' && event.data.version === 4)
      return { ...event, data: { ...event.data, metrics: { ...event.data.metrics, accuracy: -40 } } }
    if (event.type === 'PolicyUpdated' && event.data.version === ITERATIONS)
      return { ...event, data: { ...event.data, metrics: { ...event.data.metrics, skill: -3 } } }
    return event
  })
  const found = bisect(spoiled, { metric: 'skill', good: 1, bad: ITERATIONS })
  assert.is(found.cause.kind, 'reward-model-update')
  assert.is(found.cause.position, spoiled.positionOf('key', 'RewardModelUpdated/4'))
  checkBound(found)
  spoiled.close()
})

test('keys that a fork sets are changes: those that choose what is learned from as filters', () => {
  const parent = runFolder('sound', root)
  const at = sound.positionOf('key', 'IterationCompleted/3') ?? 0
  const child = runFolder('narrow', root)
  forkRun(parent, child, { at, set: ['learning.lambda=0.5', 'learning.policyAccuracyRange=[0.4,0.6]'] })
  const log = openLogReader(child.log)
  const changes = changesBetween(log, at, at + 1)
  assert.equal(
    changes.map(({ kind, what }) => [kind, what]),
    [
      ['config', 'learning.lambda: 0.3 -> 0.5'],
      ['filter', 'learning.policyAccuracyRange: null -> [0.4,0.6]'],
    ],
  )
  log.close()
})

test('what cannot be put down to a change is said: no fall, no such metric, no simulated run', () => {
  assert.is(codeOf(sound, 'skill', 1, ITERATIONS), 'bisect.no-fall')
  for (const metric of ['beauty', 'constructor', '__proto__'])
    assert.is(codeOf(sound, metric, 1, ITERATIONS), 'bisect.unknown')
  assert.is(codeOf(sound, 'skill', 1, 99), 'bisect.unknown')
  const real = openLogReader(unpackFixture(temporaryFolder()).log)
  assert.is(codeOf(real, 'accuracy', 1, 2), 'bisect.not-simulated')
  real.close()
})

test.run()
