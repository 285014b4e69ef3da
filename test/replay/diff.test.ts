import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { runFolder } from '../../src/broker/connection.ts'
import type { LoggedEvent } from '../../src/events/catalogue.ts'
import { openLogReader } from '../../src/events/log-reader.ts'
import { diffRuns } from '../../src/replay/diff.ts'
import { forkRun } from '../../src/replay/fork.ts'
import { ofType } from '../../src/replay/why.ts'
import { smallConfig } from '../actors/loop.ts'
import { temporaryFolder } from '../support/run.ts'
import { unpackFixture } from './fixture.ts'
import { recordLoop } from './record.ts'

test('two runs of the same config and seed hold the same facts', () => {
  const root = temporaryFolder()
  const [a, b] = ['a', 'b'].map((run) => recordLoop(root, run, smallConfig()))
  const { divergence, config, figures, tasks, shared } = diffRuns(a, b)
  assert.is(divergence, null)
  assert.equal(config, [])
  assert.is(shared, 0)
  assert.ok(figures.length > 0)
  for (const { difference } of figures) assert.is(difference.value, 0)
  for (const task of tasks) assert.is(task.a, task.b)
  assert.is(tasks.filter(({ group }) => group === 'train 1').length, 3)
  for (const log of [a, b]) log.close()
})

test('another rule shows as a key of the config, a first other fact and paired figures', () => {
  const root = temporaryFolder()
  const a = recordLoop(root, 'a', smallConfig())
  const b = recordLoop(root, 'b', smallConfig({ simulation: { steps: 3, learningRate: 3 } }))
  const { divergence, config, figures } = diffRuns(a, b)
  assert.equal(
    config.map(({ key }) => key),
    ['simulation.learningRate'],
  )
  assert.is(divergence?.key, 'PolicyUpdated/1')
  const first = figures.find(({ group, metric }) => group === 'train 1' && metric === 'success')
  assert.is(first?.difference.value, 0, 'before the first update nothing differs')
  assert.is(first?.difference.n, 3, 'n counts tasks')
  for (const log of [a, b]) log.close()
})

test('rollouts of both runs that have no outcome in one of them are in no pair, and are told', () => {
  const root = temporaryFolder()
  const config = smallConfig()
  const a = recordLoop(root, 'a', config)
  const b = recordLoop(root, 'b', config, (event) => {
    if (event.type !== 'TrajectoryCompleted') return event
    const { rollout, iteration, purpose, slot, task, index } = event.data
    if (iteration === 1 && purpose === 'train' && index === 0)
      return { ...event, data: { ...event.data, outcome: { kind: 'abstained', reason: 'cannot tell' } } }
    if (iteration > 0 || purpose !== 'evaluation') return event
    const data = { rollout, iteration, purpose, slot, task, cause: 'infra', error: 'gone', attempts: 3 }
    return { ...event, type: 'RolloutFailed', data } as LoggedEvent
  })
  const evaluated = ofType(a, 'TrajectoryCompleted').filter(
    ({ data }) => data.iteration === 0 && data.purpose === 'evaluation',
  )
  assert.ok(evaluated.length > 0)
  const unpaired = [
    { group: 'evaluation in-domain 0', rollouts: evaluated.length },
    { group: 'train 1', rollouts: 3 },
  ]
  assert.equal(diffRuns(a, b).unpaired, unpaired)
  assert.equal(diffRuns(b, a).unpaired, unpaired)
  assert.equal(diffRuns(a, a).unpaired, [])
  for (const log of [a, b]) log.close()
})

test('a fork shares its events with its parent', () => {
  const root = temporaryFolder()
  const parent = unpackFixture(root)
  forkRun(parent, runFolder('child', root), { at: 300, set: ['learning.lambda=0.5'] })
  const [a, b] = [parent.log, runFolder('child', root).log].map(openLogReader)
  const { shared, divergence, config } = diffRuns(a, b)
  assert.is(shared, 300)
  assert.equal(config, [{ key: 'learning.lambda', a: 1, b: 0.5 }])
  assert.ok((divergence?.a ?? 0) > 300)
  assert.is(divergence?.b, null)
  for (const log of [a, b]) log.close()
})

test.run()
