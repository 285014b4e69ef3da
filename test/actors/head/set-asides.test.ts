/** Hosts whose rollouts fail far oftener than others': put aside, and back again. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { askAt } from '../../../src/actors/head/liveness.ts'
import { openSetAsides, type SeenEvent, type SetAsides } from '../../../src/actors/head/set-asides.ts'
import { startActor } from '../../../src/actors/runtime/actor.ts'
import type { EventData } from '../../../src/events/catalogue.ts'
import { systemPlatform } from '../../../src/platform/platform.ts'
import { processText, THIS_PROCESS } from '../../../src/platform/process-id.ts'
import { startTestHead, until } from '../../support/run.ts'
import { environmentWorker, idleWorker, runStarted, toyEnvironment, trajectory } from '../../support/toy.ts'

const placeOf = (host: string) => host.repeat(16)

const started = (host: string): SeenEvent => ({
  type: 'ActorStarted',
  data: {
    ...{ role: 'environment', worker: `environment/${host}`, host, pid: 1, node: '24', decider: false },
    ...{ note: '', process: processText({ place: placeOf(host), pid: 1, start: '1' }) },
  },
  actor: `environment/${host}`,
  cause: null,
})

const request: EventData<'RolloutRequested'> = {
  ...{ rollout: '1/slot/0', iteration: 1, purpose: 'train', split: 'train', slot: 'slot', task: 'task' },
  ...{ index: 0, policyVersion: 0, seed: [1, 1], maxSteps: 3 },
}

function well(host: string): SeenEvent {
  return { ...trajectory(request), actor: `environment/${host}`, cause: 'asked' }
}

function failed(host: string, cause: string | null = 'asked'): SeenEvent {
  const worker = `environment/${host}`
  return {
    type: 'ActorFailed',
    data: { role: 'environment', worker, error: 'no display', code: null, willRetry: true },
    actor: worker,
    cause,
  }
}

function see(asides: SetAsides, times: number, event: SeenEvent): SeenEvent | null {
  for (let time = 0; time < times; time++) {
    const found = asides.see(event)
    if (found !== null) {
      asides.see({ ...found, actor: 'head', cause: null })
      return { ...found, actor: 'head', cause: null }
    }
  }
  return null
}

function withHosts(...hosts: readonly string[]): SetAsides {
  const asides = openSetAsides()
  for (const host of hosts) asides.see(started(host))
  return asides
}

test('a host that fails far oftener is put aside for three iterations, with the figures', () => {
  const asides = withHosts('a', 'b')
  asides.see({
    ...{ type: 'IterationStarted', data: { iteration: 2, policyVersion: 1, rewardModelVersion: 1 } },
    ...{ actor: 'head', cause: null },
  })
  assert.is(see(asides, 100, well('a')), null)
  assert.is(see(asides, 19, failed('b')), null, 'nineteen tries are too few')
  assert.equal(see(asides, 1, failed('b'))?.data, {
    ...{ host: 'b', place: placeOf('b'), failed: 20, tries: 20, othersFailed: 0, othersTries: 100, until: 5 },
  })
  assert.equal([...asides.now().keys()], [placeOf('b')])
  assert.is(see(asides, 100, failed('b')), null, 'it is told once')
  const completed = (iteration: number) =>
    asides.see({
      ...{ type: 'IterationCompleted', data: { iteration, accuracy: { successes: 0, n: 1 }, metrics: {} } },
      ...{ actor: 'head', cause: null },
    } as SeenEvent)
  completed(4)
  assert.is(asides.now().size, 1)
  completed(5)
  assert.is(asides.now().size, 0, 'it is back')
  assert.is(see(asides, 19, failed('b')), null, 'its count begins anew')
  assert.ok(see(asides, 1, failed('b')))
})

test('no host is put aside that is alone, or fails as others do, or rarely', () => {
  const alone = withHosts('a')
  assert.is(see(alone, 300, failed('a')), null)

  const alike = withHosts('a', 'b')
  for (let time = 0; time < 300; time++)
    for (const host of ['a', 'b']) assert.is(see(alike, 1, time % 2 ? failed(host) : well(host)), null)

  const rare = withHosts('a', 'b')
  see(rare, 200, well('a'))
  for (let time = 0; time < 300; time++) assert.is(see(rare, 1, time % 12 ? well('b') : failed('b')), null)

  const last = withHosts('a', 'b', 'c')
  see(last, 200, well('a'))
  assert.ok(see(last, 20, failed('b')))
  assert.ok(see(last, 20, failed('c')))
  assert.is(see(last, 500, failed('a')), null, 'the last one stays')

  const told = withHosts('a', 'b')
  see(told, 200, well('a'))
  assert.is(see(told, 100, failed('b', null)), null, 'a fault that is of no rollout')
})

test('a host that was well for long is put aside soon after it breaks, and a start of the head forgives', () => {
  const asides = withHosts('a', 'b')
  see(asides, 200, well('a'))
  see(asides, 10_000, well('b'))
  const found = see(asides, 200, failed('b'))
  assert.ok(found?.type === 'HostSetAside' && found.data.failed < 100)
  asides.see({ type: 'RunResumed', data: { reason: 'x' }, actor: 'head', cause: null })
  assert.is(asides.now().size, 1, 'the same head goes on')
  asides.see({ type: 'RunResumed', data: { reason: 'x', codeVersion: '1' }, actor: 'head', cause: null })
  assert.is(asides.now().size, 0)
})

test('work of a host that is aside goes to others, and it takes none until it is back', async () => {
  const rollouts = 80
  const head = await startTestHead()
  head.service.append([runStarted])
  let triedThere = 0
  const there = environmentWorker(async () => {
    triedThere++
    throw new Error('no display')
  })
  const here = environmentWorker()
  const shared = { role: 'environment', run: 'test', heartbeatMs: 200, attempts: 40 } as const
  const place = placeOf('b')
  const broken = {
    ...{ ...shared, address: head.addressOf('environment-worker'), worker: there },
    platform: { ...systemPlatform, self: { ...THIS_PROCESS, place } },
  }
  const actors = [
    await startActor({
      ...{ ...shared, address: head.addressOf('environment'), worker: idleWorker },
      decider: toyEnvironment({ iterations: 1, rollouts }),
    }),
    await startActor(broken),
    await startActor({ ...shared, address: head.addressOf('environment-worker'), worker: here }),
  ]
  const begin = (iteration: number) =>
    head.service.append([
      { type: 'IterationStarted', data: { iteration, policyVersion: iteration - 1, rewardModelVersion: 0 } },
    ])
  const count = (type: 'TrajectoryCompleted' | 'HostSetAside') => head.log.countByType()[type] ?? 0
  let iteration = 0
  while (count('HostSetAside') === 0 && iteration < 5) {
    begin(++iteration)
    await until('an iteration', () => count('TrajectoryCompleted') === iteration * rollouts)
  }
  assert.is(count('HostSetAside'), 1)
  assert.is(head.log.countByType().RolloutFailed, undefined)
  const [event] = [...head.log.events({ types: ['HostSetAside'] })]
  assert.is(event?.data.place, place)

  const live = await askAt('test', head.addressOf('tool'), 5_000)
  assert.ok('hosts' in live)
  assert.is(live.hosts?.rows.find(({ aside }) => aside)?.aside?.until, event?.data.until)

  const isAside = () => actors[1]?.status().state === 'put aside'
  await until('it hears of it', () => isAside() && actors[1]?.status().waitsInAll === 0)
  const before = triedThere
  begin(++iteration)
  await until('the next iteration', () => count('TrajectoryCompleted') === iteration * rollouts)
  assert.is(triedThere, before, 'it took nothing')

  const complete = (which: number) =>
    head.service.append([
      {
        type: 'IterationCompleted',
        data: { iteration: which, accuracy: { successes: 0, n: rollouts }, metrics: {} },
      },
    ])
  for (let which = 1; which <= (event?.data.until ?? 0); which++) complete(which)
  await until('it is back', () => !isAside())
  await until('it tries again', async () => {
    begin(++iteration)
    await until('an iteration', () => count('TrajectoryCompleted') === iteration * rollouts)
    return triedThere > before
  })

  for (const one of actors) await one.stop()
  await head.close()
})

test('a host that is aside works if no other is there', async () => {
  const rollouts = 80
  const head = await startTestHead()
  head.service.append([runStarted])
  let isBroken = true
  const worker = environmentWorker(async () => {
    if (isBroken) throw new Error('no display')
  })
  const shared = { role: 'environment', run: 'test', heartbeatMs: 200, attempts: 60 } as const
  const platform = { ...systemPlatform, self: { ...THIS_PROCESS, place: placeOf('b') } }
  const decider = await startActor({
    ...{ ...shared, address: head.addressOf('environment'), worker: idleWorker },
    decider: toyEnvironment({ iterations: 1, rollouts }),
  })
  const address = head.addressOf('environment-worker')
  const well = await startActor({ ...shared, address, worker: environmentWorker() })
  const ill = await startActor({ ...shared, address, worker, platform })
  const total = () => head.log.countByType().TrajectoryCompleted ?? 0
  const begin = (iteration: number) =>
    head.service.append([
      { type: 'IterationStarted', data: { iteration, policyVersion: iteration - 1, rewardModelVersion: 0 } },
    ])
  let iteration = 0
  while (head.log.countByType().HostSetAside === undefined && iteration < 5) {
    begin(++iteration)
    await until('an iteration', () => total() === iteration * rollouts)
  }
  await until('it hears of it', () => ill.status().state === 'put aside')
  isBroken = false
  await well.stop()
  begin(++iteration)
  await until('the host that is left does the work', () => total() === iteration * rollouts)
  for (const one of [decider, ill]) await one.stop()
  await head.close()
})

test.run()
