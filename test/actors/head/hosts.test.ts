import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { unchangedVersion } from '../../../src/actors/decider/fold.ts'
import { type HostError, hostsOf, MOST_ROWS, openHostFacts } from '../../../src/actors/head/hosts.ts'
import { askHead } from '../../../src/actors/head/liveness.ts'
import type { Code } from '../../../src/actors/head/other-code.ts'
import type { WatchedActor } from '../../../src/actors/head/watch.ts'
import { perMinuteOf, rateAfter } from '../../../src/actors/head/work-rate.ts'
import { startActor } from '../../../src/actors/runtime/actor.ts'
import { openStatus } from '../../../src/actors/runtime/status.ts'
import { openWaits } from '../../../src/actors/runtime/waits.ts'
import { systemClock } from '../../../src/clock.ts'
import { loggable, parseConfig } from '../../../src/config.ts'
import type { NewEvent } from '../../../src/events/catalogue.ts'
import type { Role } from '../../../src/events/envelope.ts'
import { pack } from '../../../src/events/msgpack.ts'
import { connectBus } from '../../../src/events/nats/connect.ts'
import { subjectsOf } from '../../../src/events/subjects.ts'
import { systemPlatform } from '../../../src/platform/platform.ts'
import { processText, THIS_PROCESS } from '../../../src/platform/process-id.ts'
import { startProcess } from '../../support/processes.ts'
import { startTestHead, until } from '../../support/run.ts'
import { environmentWorker, runStarted } from '../../support/toy.ts'

const own: Code = { version: '0.3.0', digest: 'a'.repeat(64) }
const other: Code = { version: '0.2.0', digest: 'b'.repeat(64) }

function actor(host: string, role: Role, index = 0, more: Partial<WatchedActor> = {}): WatchedActor {
  return {
    ...{ role, worker: `${role}/${host}-${index}`, host, pid: index, decider: index === 0, state: 'working' },
    ...{ position: null, heartbeatMs: 2_000, waits: [], waitsInAll: 0, startedAt: 1, rssMb: 1, counters: {} },
    ...{ leaving: false, silentMs: 0, stalled: false, slots: 64, perMinute: 10, roundTripMs: 1 },
    ...more,
  }
}

const codesOf = (actors: readonly WatchedActor[]) => new Map(actors.map(({ worker }) => [worker, own]))

test('a row has the roles, slots, rate, round trip and code of its host', () => {
  const actors = [
    actor('a', 'head', 0, { slots: 0, perMinute: null }),
    actor('b', 'environment', 0, { roundTripMs: 7, clockAheadMs: -3_600_000 }),
    actor('b', 'environment', 1, { clockAheadMs: -3_600_900 }),
    actor('b', 'policy', 0, { slots: 0, perMinute: 0 }),
  ]
  const { total, rows } = hostsOf(actors, codesOf(actors), new Map())
  const ofB = rows.find(({ host }) => host === 'b')
  assert.equal(ofB, {
    ...{ host: 'b', place: '', roles: { environment: 2, policy: 1 }, silent: 0, slots: 128, perMinute: 20 },
    ...{
      roundTripMs: 7,
      clockAheadMs: -3_600_000,
      codes: [own],
      isOther: false,
      lastError: null,
      weights: null,
    },
  })
  assert.equal(total, { hosts: 2, processes: 4, silent: 0, otherCode: 0, slots: 128, perMinute: 20 })
})

test('hosts with trouble come first: silent ones, other code, errors', () => {
  const actors = [
    actor('a', 'head'),
    actor('failed', 'environment'),
    actor('other', 'environment'),
    actor('silent', 'environment', 0, { stalled: true }),
  ]
  const codes = new Map<string, Code>([...codesOf(actors), ['environment/other-0', other]])
  const error: HostError = { time: 5, worker: 'environment/failed-0', error: 'no display' }
  const { rows } = hostsOf(actors, codes, new Map([[error.worker, error]]))
  assert.equal(
    rows.map(({ host }) => host),
    ['silent', 'other', 'failed', 'a'],
  )
  assert.is(rows[2]?.lastError?.error, 'no display')
})

test('containers of one name are hosts of their own', () => {
  const at = (place: string) => ({ process: processText({ place, pid: 7, start: '1' }) })
  const actors = [
    actor('box', 'environment', 0, at('a'.repeat(16))),
    actor('box', 'environment', 1, at('b'.repeat(16))),
  ]
  assert.is(hostsOf(actors, codesOf(actors), new Map()).total.hosts, 2)
})

test('a thousand hosts of eight processes fit into one message of the broker', () => {
  const actors = Array.from({ length: 8_000 }, (_, index) =>
    actor(`host-${Math.floor(index / 8)}.example.org`, 'environment', index),
  )
  const errors = new Map(
    actors.map(({ worker }) => [worker, { time: 1, worker, error: 'e'.repeat(200) }] as const),
  )
  const hosts = hostsOf(actors, codesOf(actors), errors, new Map(), () => ({
    ...{ version: 1_234, behind: 2, forMs: 86_400_000 },
  }))
  assert.is(hosts.total.hosts, 1_000)
  assert.is(hosts.total.slots, 512_000)
  assert.is(hosts.rows.length, MOST_ROWS)
  assert.ok(pack(hosts).byteLength < 200_000)
})

test('a heartbeat of a worker with all slots taken has at most 1 kB', () => {
  const waits = openWaits('environment/1a2b3c4d')
  for (let index = 0; index < 256; index++) {
    waits.begin({
      waitingFor: `Rollout/123/in-domain-000${index}/7 (play)`,
      from: 'environment/1a2b3c4d',
      deadlineMs: 1,
    })
    waits.begin({ waitingFor: `actions of 123/in-domain-000${index}/7`, from: 'policy', deadlineMs: 1 })
  }
  const { status } = openStatus({
    ...{ role: 'environment', name: 'environment/1a2b3c4d', hasDecider: false, heartbeatMs: 2_000, waits },
    worker: environmentWorker(),
    platform: { ...systemPlatform, hostname: 'worker-0123.pool.example.org', self: THIS_PROCESS },
    host: () => null,
    done: () => 1_000_000,
    roundTripMs: () => 12.3,
    draining: () => false,
    leaving: () => false,
  })
  assert.ok(pack(status()).byteLength <= 1_000, `${pack(status()).byteLength} bytes`)
})

test('a rate is that of the last minute', () => {
  let rate = rateAfter(undefined, 0, 0)
  assert.is(perMinuteOf(rate, 3, 1_000), null)
  assert.is(perMinuteOf(rate, 5, 10_000), 30)
  for (let at = 0; at <= 300_000; at += 2_000) rate = rateAfter(rate, 100, at)
  assert.is(perMinuteOf(rate, 100, 300_000), 0)
})

test('a host has the weights of its last rollouts, how far they are behind, and since when', async () => {
  const head = await startTestHead()
  head.service.append([runStarted])
  let now = 1_000_000
  const facts = openHostFacts(head.log, { ...systemClock, now: () => now })
  const see = (worker: string, type: string, data: object) =>
    facts.observe([{ event: { envelope: { type, data, actor: worker } } as never }])
  const actors = [
    actor('a', 'head'),
    actor('b', 'environment', 0),
    actor('b', 'environment', 1),
    actor('c', 'policy'),
  ]
  const weightsOf = (wanted: string) =>
    facts.hostsOf(actors, new Map()).rows.find(({ host }) => host === wanted)?.weights
  assert.is(weightsOf('b'), null)
  see('policy/c-0', 'PolicyUpdated', { version: 4 })
  see('environment/b-1', 'TrajectoryCompleted', { policyVersion: 2 })
  now += 5_000
  see('environment/b-0', 'TrajectoryCompleted', { policyVersion: 3 })
  now += 1_000
  // A rollout that began earlier says nothing new.
  see('environment/b-0', 'TrajectoryCompleted', { policyVersion: 2 })
  assert.equal(weightsOf('b'), { version: 3, behind: 1, forMs: 1_000 })
  assert.equal(weightsOf('c'), { version: 4, behind: 0, forMs: 6_000 })
  assert.is(weightsOf('a'), null)
  await head.close()
})

test('the head tells what its hosts do, and rl status shows it', async () => {
  const head = await startTestHead()
  const version = { ...unchangedVersion(0, null), iteration: 0 }
  head.service.append([
    { ...runStarted, data: { ...runStarted.data, config: loggable(parseConfig({})) } } as NewEvent,
    { type: 'PolicyUpdated', data: version },
    { type: 'RewardModelUpdated', data: version },
    { type: 'IterationStarted', data: { iteration: 1, policyVersion: 0, rewardModelVersion: 0 } },
  ])
  const address = head.addressOf('environment-worker')
  const worker = environmentWorker(undefined, { concurrency: 12 })
  const here = await startActor({ role: 'environment', run: 'test', address, heartbeatMs: 200, worker })
  const bus = await connectBus(head.addressOf('policy-worker'))
  const { perMinute, silentMs, stalled, ...status } = actor('far-away', 'policy', 1, {
    heartbeatMs: 600_000,
    at: Date.now() - 3_600_000,
  })
  const state = 'idle\nrun test: completed'
  bus.publish(subjectsOf('test').tapOf('heartbeat', 'policy-worker'), pack({ ...status, state }))
  await until('both are heard', () => head.watch.actors().length === 2)
  await until('a way was measured', () => here.status().roundTripMs !== undefined)
  assert.is(here.status().slots, 12)
  const live = await askHead(head.folder, 60_000)
  assert.ok('hosts' in live && live.hosts?.total.hosts === 2 && live.actorsInAll === 2)
  const root = head.folder.folder.replace(/\/test$/, '')
  const shown = startProcess(['src/rl.ts', 'status', 'test'], { RL_RUNS: root })
  assert.is(await shown.status, 0, shown.output())
  assert.match(shown.output(), /2 hosts, 2 processes, 76 slots/)
  // All 128 rollouts of the first iteration are asked for, none is open, and no later version is there.
  assert.match(shown.output(), /^limit: asked-work 128 of 128 rollouts$/m)
  assert.match(shown.output(), /far-away +policy +64 .* 60 min behind/)
  // What a host says of itself makes no line of its own.
  assert.match(shown.output(), 'idle\\nrun test: completed')
  const ofFar = live.hosts.rows.find(({ host }) => host === 'far-away')
  const ofHere = live.hosts.rows.find(({ host }) => host !== 'far-away')
  assert.ok((ofFar?.clockAheadMs ?? 0) < -3_500_000, `${ofFar?.clockAheadMs} ms`)
  assert.ok(Math.abs(ofHere?.clockAheadMs ?? 1e9) < 600_000, `${ofHere?.clockAheadMs} ms`)
  await bus.close()
  await here.stop()
  await head.close()
})

test.run()
