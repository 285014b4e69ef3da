import { readFileSync, writeFileSync } from 'node:fs'
import { decode as unpack } from '@msgpack/msgpack'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { runFolder } from '../../src/broker/connection.ts'
import { RlError } from '../../src/errors.ts'
import { CATALOGUE } from '../../src/events/catalogue.ts'
import { type LogReader, openLogReader, type ReadOptions } from '../../src/events/log-reader.ts'
import { verifyLog } from '../../src/events/verify.ts'
import { openKept } from '../../src/projections/kept.ts'
import { expectationOf, readExpectation, surprise } from '../../src/replay/expectation.ts'
import { keptDigests, openRebuild, rebuildKept, withKeptFile } from '../../src/replay/projections.ts'
import { replay } from '../../src/replay/replay.ts'
import { rulingAt } from '../../src/replay/rule.ts'
import { walk } from '../../src/replay/walk.ts'
import { smallConfig } from '../actors/loop.ts'
import { temporaryFolder } from '../support/run.ts'
import { FIXTURE, unpackFixture } from './fixture.ts'
import { recordLoop } from './record.ts'

function replayed(log: LogReader, batch: number) {
  const rebuild = openRebuild()
  try {
    const result = replay(log, { batch, onBatch: rebuild.apply })
    return { result, projections: rebuild.digests() }
  } finally {
    rebuild.close()
  }
}

test('a real run, committed, is decided and rewarded today as it was', () => {
  const log = openLogReader(unpackFixture(temporaryFolder()).log)
  const { result, projections } = replayed(log, 1000)
  assert.is(result.difference, null)
  assert.ok(result.completed)
  assert.is(result.digests.replayed, result.digests.logged)
  const expected = readExpectation(`${FIXTURE}replay.json`)
  assert.ok(expected, 'rl replay --accept was run')
  assert.is(surprise(expected, expectationOf(result, projections)), null)
  const one = replayed(log, 1)
  assert.equal(one.result, result)
  assert.equal(one.projections, projections)
  log.close()
})

test('a log of an older schema replays: what it holds is brought to the newest as it is read', () => {
  const log = openLogReader(unpackFixture(temporaryFolder()).log)
  const [first] = log.events({ types: ['ActorStarted'] })
  const row = log.row(first.position)
  assert.ok(row)
  const { v, data } = unpack(row.body) as { v: number; data: object }
  assert.is(v, 1, 'the committed run was written before the schema changed')
  assert.ok(CATALOGUE.ActorStarted.v > v)
  assert.not.ok('node' in data)
  assert.is(first.v, CATALOGUE.ActorStarted.v)
  assert.is(first.type === 'ActorStarted' && first.data.node, 'unknown')
  assert.ok(verifyLog(log).ok)
  const steps = [...walk(log, { from: first.position, until: first.position })]
  assert.is(steps[0].event.v, CATALOGUE.ActorStarted.v)
  assert.is(replay(log).difference, null)
  log.close()
})

test('another constant of the reward is found at the update that it changes', () => {
  const log = openLogReader(unpackFixture(temporaryFolder()).log)
  const update = log.byKey('PolicyUpdated/1')
  function* events(options?: ReadOptions) {
    for (const event of log.events(options))
      if (event.type !== 'RunStarted') yield event
      else {
        const learning = { ...(event.data.config.learning as object), lambda: 0.5 }
        yield { ...event, data: { ...event.data, config: { ...event.data.config, learning } } }
      }
  }
  const changed: LogReader = { ...log, events: events as LogReader['events'] }
  const { difference } = replay(changed)
  assert.is(difference?.kind, 'contradiction')
  assert.ok(['PolicyUpdated/1', 'RewardModelUpdated/1'].includes(difference?.key ?? ''))
  assert.ok(update && difference && difference.position <= update.position)
  log.close()
})

test('a run of the deciders replays to the same, in batches of any size', () => {
  const log = recordLoop(temporaryFolder(), 'loop', smallConfig())
  const { result } = replayed(log, 1000)
  assert.is(result.difference, null)
  assert.ok(result.completed)
  assert.is(result.open, 0)
  assert.ok(result.compared > 50)
  for (const batch of [1, 7]) assert.equal(replayed(log, batch).result, result)
  log.close()
})

test('a decision that is other, missing or from nowhere is reported at its event, with state and rule', () => {
  const root = temporaryFolder()
  const config = smallConfig()
  const other = recordLoop(root, 'other', config, (event) =>
    event.type === 'IterationCompleted' && event.data.iteration === 2
      ? { ...event, data: { ...event.data, accuracy: { successes: 0, n: 1 } } }
      : event,
  )
  const found = replay(other).difference
  assert.is(found?.key, 'IterationCompleted/2')
  assert.is(found?.position, other.positionOf('key', 'IterationCompleted/2'))
  assert.match(found?.what ?? '', /data\.accuracy\.\w+: \d+, not \d+/)
  const ruling = rulingAt(other, 'head', found?.cause?.position ?? 0)
  assert.match(ruling.rules.join('\n'), /iterationOver.*completeIteration/)

  const missing = recordLoop(root, 'missing', config, (event) =>
    event.type === 'EvaluationCompleted' ? null : event,
  )
  const { difference } = replay(missing)
  assert.equal([difference?.kind, difference?.key], ['not-decided', 'IterationCompleted/0'])

  const late = recordLoop(root, 'late', smallConfig({ environment: { rolloutsPerTask: 3 } }), (event) =>
    event.type === 'RunStarted' ? { ...event, data: { ...event.data, config: { ...config } } } : event,
  )
  const first = replay(late).difference
  assert.is(first?.key, 'IterationPlanned/1')
  assert.is(first?.role, 'environment')
  assert.is(replay(late, { until: (first?.position ?? 0) - 1 }).difference, null)
  for (const log of [other, missing, late]) log.close()
})

test('kept projections are compared on a copy', () => {
  const root = temporaryFolder()
  const log = recordLoop(root, 'kept', smallConfig())
  assert.is(keptDigests(runFolder('kept', root).projections, log), null)
  log.close()
})

test('damaged projections are told by their file, and folded anew they are as before', () => {
  const root = temporaryFolder()
  const log = recordLoop(root, 'damaged', smallConfig())
  const file = runFolder('damaged', root).projections
  const { digests } = rebuildKept(file, log)
  const sound = readFileSync(file)
  for (const harmed of [sound.subarray(0, sound.length >> 1), Buffer.from('no database at all')]) {
    writeFileSync(file, harmed)
    for (const read of [
      () => keptDigests(file, log),
      () => withKeptFile(file, (db) => openKept(db).catchUp(log)),
    ])
      assert.throws(
        read,
        (error: unknown) => error instanceof RlError && error.code === 'projections.damaged',
      )
    assert.equal(rebuildKept(file, log).digests, digests)
  }
  log.close()
})

test('a walk shows who does what at each event', () => {
  const log = recordLoop(temporaryFolder(), 'walk', smallConfig())
  const [step] = walk(log, { from: 1, until: 1 })
  assert.is(step.event.type, 'RunStarted')
  const environment = step.reactions.find(({ role }) => role === 'environment')
  assert.is(environment?.before, 'idle')
  assert.is(environment?.after, 'loading')
  assert.is(environment?.outputs[0].type, 'job')
  log.close()
})

test.run()
