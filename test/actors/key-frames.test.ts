/** Deciders that go on from their key frames decide as those that were fed every event. */
import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import * as fc from 'fast-check'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import {
  type Decider,
  type Output,
  type RunningDecider,
  resumeDecider,
  startDecider,
} from '../../src/actors/decider/decider.ts'
import { emitEvent } from '../../src/actors/decider/fold.ts'
import { decidersOf } from '../../src/actors/deciders.ts'
import { hostDecider, type OpenJob } from '../../src/actors/runtime/decider-host.ts'
import { type KeyFrame, type KeyFrames, openKeyFrames } from '../../src/actors/runtime/key-frame.ts'
import { runFolder } from '../../src/broker/connection.ts'
import { type Config, loggedConfig, parseConfig } from '../../src/config.ts'
import type { LoggedEvent, NewEvent } from '../../src/events/catalogue.ts'
import type { Role } from '../../src/events/envelope.ts'
import { connectLog } from '../../src/events/log-client.ts'
import { openLogReader } from '../../src/events/log-reader.ts'
import { startsOf } from '../../src/events/starts.ts'
import { rng, seedOf } from '../../src/random.ts'
import { forkRun } from '../../src/replay/fork.ts'
import { unpackFixture } from '../replay/fixture.ts'
import { startTestHead, temporaryFolder, until } from '../support/run.ts'
import { policyUpdated, runStarted, toyDecider, toyPolicy } from '../support/toy.ts'
import { playLoop, smallConfig } from './loop.ts'

const HASH = 'ab'.repeat(32)
const folder = runFolder('test', temporaryFolder())

function framesOf(decider: Decider, configs: readonly Config[], hash = HASH): Promise<KeyFrames> {
  return openKeyFrames({ folder, decider, configs, hashAt: () => hash })
}

/** The same decider after a restart: what it is goes through its file. */
async function restarted(
  running: RunningDecider,
  configs: readonly Config[],
  position: number,
): Promise<RunningDecider> {
  const { decider } = running
  const frames = await framesOf(decider, configs)
  frames.take({ position, state: running.snapshot(), unsent: [], jobs: [] }).write(HASH)
  const { found } = await framesOf(decider, configs)
  assert.is(found?.position, position)
  return resumeDecider(decider, (found as KeyFrame).state)
}

/** What a decider asks for, event by event, and what it is in the end; restarted after so many events. */
async function decided(
  decider: Decider,
  configs: readonly Config[],
  events: readonly LoggedEvent[],
  cuts: ReadonlySet<number>,
): Promise<{ outputs: readonly (readonly Output[])[]; state: unknown }> {
  let running = startDecider(decider)
  const outputs: (readonly Output[])[] = []
  for (const [index, event] of events.entries()) {
    outputs.push([...running.handle(event)])
    if (cuts.has(index)) running = await restarted(running, configs, event.position)
  }
  return { outputs, state: running.snapshot() }
}

const CONFIGS: readonly Config[] = [
  smallConfig(),
  smallConfig({ rewardModel: { provider: 'simulated', judging: 'group' } }),
  smallConfig({ run: { iterations: 4, evaluateEvery: 2, maxStaleness: 1 } }),
  smallConfig({
    environment: {
      ...{ name: 'simulated', tasks: 12, tasksPerIteration: 2, rolloutsPerTask: 4, minGroupSize: 2 },
      refill: 3,
    },
  }),
]

test('a decider that is restarted from key frames anywhere decides as one that is fed every event', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.nat({ max: CONFIGS.length - 1 }),
      fc.nat(),
      fc.array(fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true }), {
        minLength: 1,
        maxLength: 12,
      }),
      async (which, seed, places) => {
        const config = CONFIGS[which]
        const { log } = playLoop({ config, order: rng(seedOf(seed, 'order')) })
        const cuts = new Set(places.map((place) => Math.floor(place * log.length)))
        for (const decider of decidersOf(config)) {
          const whole = await decided(decider, [config], log, new Set())
          assert.equal(await decided(decider, [config], log, cuts), whole, decider.role)
        }
      },
    ),
    { numRuns: 15, examples: [[0, 0, [0.38759689922480617, 0]]] },
  )
})

test('after a fork the key frame goes on under the config of the fork', async () => {
  const root = temporaryFolder()
  const parent = unpackFixture(root)
  const reader = openLogReader(parent.log)
  const at = reader.positionOf('key', 'IterationCompleted/1') ?? 0
  const started = reader.byKey('IterationStarted/2') as LoggedEvent
  reader.close()
  const child = runFolder('child', root)
  forkRun(parent, child, { at, set: ['environment.tasksPerIteration=3'] })
  const fork = openLogReader(child.log)
  const starts = startsOf(fork)
  const configs = [starts.first, starts.last].map(({ data }) => loggedConfig(data.config))
  const events = [...fork.events(), { ...started, position: at + 2 }]
  for (const decider of decidersOf(configs[0])) {
    const whole = await decided(decider, configs, events, new Set())
    for (const cut of [at - 2, at - 1, at])
      assert.equal(await decided(decider, configs, events, new Set([cut])), whole, decider.role)
  }
  fork.close()
})

test('a frame that is damaged, or of another log, config or version, is not used, and it is told why', async () => {
  const config = smallConfig()
  const [decider] = decidersOf(config)
  const none = await framesOf({ ...decider, role: 'none' as Role }, [config])
  assert.is(none.found, null)
  assert.is(none.note, '')
  const frames = await framesOf(decider, [config])
  const frame = { position: 7, state: startDecider(decider).snapshot(), unsent: [], jobs: [] }
  frames.take(frame).write(HASH)
  const path = join(folder.folder, 'frames', `${decider.role}.frame`)
  assert.is(statSync(path).mode & 0o777, 0o600)
  assert.is((await framesOf(decider, [config])).note, 'goes on from its key frame at position 7')

  for (const other of [
    framesOf(decider, [parseConfig({ run: { seed: 99 } })]),
    framesOf({ ...decider, version: decider.version + 1 }, [config]),
    framesOf(decider, [config], 'cd'.repeat(32)),
    framesOf(decider, [config], ''),
  ]) {
    const { found, note } = await other
    assert.is(found, null)
    assert.match(note, /^its key frame is not used: /)
  }
  const whole = readFileSync(path)
  for (const damaged of [
    whole.subarray(0, whole.length - 1),
    Buffer.alloc(0),
    Buffer.from(whole.map((byte, index) => (index === whole.length >> 1 ? byte ^ 1 : byte))),
  ]) {
    writeFileSync(path, damaged)
    const { found, note } = await framesOf(decider, [config])
    assert.is(found, null)
    assert.is(note, 'its key frame is not used: it is damaged')
  }
})

test('a decider on the bus goes on from its frame: with its jobs, and with what it had not sent yet', async () => {
  const head = await startTestHead()
  const log = connectLog({ bus: head.bus, run: 'test', actor: 'head/one' })
  const completed = (iteration: number): NewEvent => ({
    type: 'IterationCompleted',
    data: { iteration, accuracy: { successes: 0, n: 1 }, metrics: {} },
  })
  head.service.append([runStarted, completed(1), completed(2)])
  const decider = toyPolicy()
  const open = () => openKeyFrames({ folder: head.folder, decider, configs: [], hashAt: head.log.hashAt })

  const jobs: OpenJob[] = []
  const first = await hostDecider({
    decider,
    log,
    frames: await open(),
    onJob: (job) => jobs.push(job),
    onSettled() {},
  })
  await until('both jobs are asked for', () => jobs.length === 2)
  await first.stop()

  head.service.append([policyUpdated(1), completed(3)])
  const again: OpenJob[] = []
  const frames = await open()
  assert.is(frames.found?.position, 3)
  const second = await hostDecider({ decider, log, frames, onJob: (job) => again.push(job), onSettled() {} })
  await until('what is open is asked for again', () => again.length === 2)
  assert.equal(
    again.map(({ job, event }) => [job.done, event.position]),
    [
      ['PolicyUpdated/2', 3],
      ['PolicyUpdated/3', 5],
    ],
  )
  await second.stop()

  // The process ended between the decision and its append.
  const counting = toyDecider('head', () => ({ seen: 0 }), {
    IterationCompleted: (context: { seen: number }) => {
      context.seen++
      return undefined
    },
  })
  const event = emitEvent('RunFailed', { reason: 'decided before the end' })
  const [{ id: cause }] = head.log.events({ types: ['IterationCompleted'] })
  const unsent = {
    event: (event as { event: NewEvent }).event,
    id: '00000000-0000-8000-8000-000000000001',
    cause,
  }
  const stored = {
    position: 3,
    state: { ...startDecider(counting).snapshot(), context: { seen: 2 } },
    unsent: [unsent],
    jobs: [],
  }
  for (let time = 0; time < 2; time++) {
    const host = await hostDecider({
      decider: counting,
      log,
      frames: { every: 1, found: structuredClone(stored), note: '', take: () => ({ write() {} }) },
      onJob() {},
      onSettled() {},
    })
    await until('the decision is in the log', () => host.caughtUp() && head.log.byId(unsent.id) !== null)
    assert.equal(host.running.context(), { seen: 3 }, 'only what came after the frame was fed')
    await host.stop()
  }
  assert.is([...head.log.events({ types: ['RunFailed'] })].length, 1)
  log.close()
  await head.close()
})

test.run()
