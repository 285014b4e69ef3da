/** What befalls work on its way through a queue: lost, handed out twice, garbage among it, hung, failed for good. */
import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { startActor } from '../../src/actors/runtime/actor.ts'
import type { Worker } from '../../src/actors/runtime/worker.ts'
import type { NewEvent } from '../../src/events/catalogue.ts'
import { pack } from '../../src/events/msgpack.ts'
import { POSITION_HEADER, subjectsOf } from '../../src/events/subjects.ts'
import { subscribe } from '../../src/events/subscription.ts'
import { AUTHORS } from '../../src/events/users.ts'
import { startTestHead, type TestHead, until } from '../support/run.ts'
import {
  environmentWorker,
  idleWorker,
  policyUpdated,
  policyWorker,
  toyEnvironment,
  toyPolicy,
} from '../support/toy.ts'

const subjects = subjectsOf('test')
const QUEUE = 'rl-test-RolloutRequested'
/** Deliveries are counted whoever gets them: where that is not what is tested, a slow machine may need any number. */
const MANY = 1_000
const begun: NewEvent = {
  type: 'IterationStarted',
  data: { iteration: 1, policyVersion: 0, rewardModelVersion: 0 },
}
const completed: NewEvent = {
  type: 'IterationCompleted',
  data: { iteration: 1, accuracy: { successes: 0, n: 1 }, metrics: {} },
}

type Options = Omit<Parameters<typeof startActor>[0], 'run' | 'address' | 'role'>

function environment(head: TestHead, options: Options) {
  const shared = { run: 'test', address: head.address, heartbeatMs: 200 }
  return startActor({ ...shared, role: 'environment', ...options })
}

function policy(head: TestHead, options: Options) {
  const shared = { run: 'test', address: head.address, heartbeatMs: 200, attempts: 2 }
  return startActor({ ...shared, role: 'policy', ...options })
}

/** Asks the server itself, as somebody with all rights would. */
async function jetstream(head: TestHead, call: string): Promise<Record<string, unknown>> {
  const answer = await head.bus.request(`$JS.API.${call}`, new Uint8Array(0), { timeoutMs: 60_000 })
  return JSON.parse(Buffer.from(answer).toString())
}

async function queued(head: TestHead, queue: string): Promise<number> {
  const { state } = await jetstream(head, `STREAM.INFO.${queue}`)
  return (state as { messages: number }).messages
}

function done(head: TestHead): number {
  return head.log.countByType().TrajectoryCompleted ?? 0
}

test('work whose queue was wiped or deleted is published again', async () => {
  const head = await startTestHead()
  const decider = toyEnvironment({ iterations: 1, rollouts: 20 })
  const actors = [await environment(head, { worker: idleWorker, decider })]
  head.service.append([begun])
  await until('queued', async () => (await queued(head, QUEUE)) === 20)
  await jetstream(head, `STREAM.PURGE.${QUEUE}`)
  actors.push(await environment(head, { worker: environmentWorker() }))
  await until('all played', () => done(head) === 20)
  await jetstream(head, `STREAM.DELETE.${QUEUE}`)
  head.service.append([{ ...begun, data: { iteration: 2, policyVersion: 0, rewardModelVersion: 0 } }])
  await until('all played, again', () => done(head) === 40)
  for (const one of actors) await one.stop()
  await head.close()
})

test('work is done though a server that was killed forgot the numbers of its queue', async () => {
  const head = await startTestHead()
  const decider = toyEnvironment({ iterations: 1, rollouts: 6 })
  const actors = [await environment(head, { worker: environmentWorker(), decider })]
  const begin = (iteration: number) => head.service.append([{ ...begun, data: { ...begun.data, iteration } }])
  for (const iteration of [1, 2, 3, 4]) {
    begin(iteration)
    await until('all played', () => done(head) === 6 * iteration)
  }
  await until('all off the queue', async () => (await queued(head, QUEUE)) === 0)
  const server = () => Number(readFileSync(join(head.folder.broker, 'nats.pid'), 'utf8'))
  const before = server()
  process.kill(before, 'SIGTERM') // It writes down what its consumers have delivered.
  await until(
    'another server',
    async () => server() !== before && (await queued(head, QUEUE).catch(() => -1)) === 0,
  )
  // What nats-server 2.9 makes of an empty queue when it is killed: numbers begin at 1 again, and the consumer stands at 24.
  const streams = join(head.folder.broker, 'store', 'jetstream', '$G', 'streams')
  rmSync(join(streams, QUEUE, 'msgs'), { recursive: true })
  process.kill(server(), 'SIGKILL')
  begin(5)
  await until('all played, again', () => done(head) === 30)
  for (const one of actors) await one.stop()
  await head.close()
})

test('work that comes again while it is in hand, and then fails, is tried again', async () => {
  const head = await startTestHead()
  let tries = 0
  const worker = environmentWorker(async () => {
    if (++tries > 1) return
    const until = performance.now() + 1_500
    while (performance.now() < until);
    await new Promise((resolve) => setTimeout(resolve, 500))
    throw new Error('the first try')
  })
  const decider = toyEnvironment({ iterations: 1, rollouts: 1 })
  const actor = await environment(head, { worker, decider, attempts: MANY })
  head.service.append([begun])
  await until('played', () => done(head) === 1)
  assert.ok(tries > 1)
  await actor.stop()
  await head.close()
})

test('garbage on any subject makes nobody deaf, comes once, and is kept as a dead letter', async () => {
  const head = await startTestHead()
  const seen: number[] = []
  const subscription = await subscribe(
    { bus: head.bus, run: 'test' },
    ({ position }) => void seen.push(position),
  )
  const actors = [
    await environment(head, {
      worker: { ...environmentWorker(), shared: new Set() },
      decider: toyEnvironment({ iterations: 1, rollouts: 2 }),
    }),
  ]
  const last = () => head.log.head().position
  await until('caught up', () => seen.length === last())
  const garbage = [new Uint8Array([0xc1]), pack({ type: 'x' }), pack(null), new Uint8Array(0)]
  for (const body of garbage) {
    const taps = AUTHORS.flatMap((author) => [
      subjects.tapOf('heartbeat', author),
      subjects.tapOf('fault', author),
    ])
    for (const tap of [subjects.tap('head'), ...taps]) head.bus.publish(tap, body)
    for (const position of [last() + 1, 1e15, -1])
      for (const type of ['PolicyUpdated', 'RolloutRequested'])
        head.bus.publish(subjects.evt(type), body, { [POSITION_HEADER]: String(position) })
    head.bus.publish(subjects.work('environment'), body)
    head.bus.publish(subjects.evt('RolloutRequested'), body)
  }
  head.service.append([begun])
  await until('played', () => done(head) === 2)
  await until('heard', () => seen.length >= last())
  assert.equal(
    seen,
    seen.map((_, index) => index + 1),
  )
  for (const queue of [QUEUE, 'rl-test-work-environment'])
    await until(`${queue} is empty`, async () => (await queued(head, queue)) === 0)
  await until('dead letters', () => head.log.deadLetters().total >= 2 * garbage.length)
  for (const one of actors) await one.stop()
  await subscription.stop()
  await head.close()
})

test('a worker that hangs loses its job at the deadline, and what it brings later changes nothing', async () => {
  const head = await startTestHead()
  let aborted = false
  const letGo: (() => void)[] = []
  const hanging = environmentWorker(
    (_, signal) =>
      new Promise((resolve) => {
        letGo.push(resolve)
        signal.addEventListener('abort', () => {
          aborted = true
        })
      }),
    { deadlineMs: 300, concurrency: 1 },
  )
  const decider = toyEnvironment({ iterations: 1, rollouts: 1 })
  const first = await environment(head, { worker: hanging, decider, attempts: MANY })
  head.service.append([begun])
  await until('in hand', () => letGo.length > 0)
  const second = await environment(head, { worker: environmentWorker(), attempts: MANY })
  await until('played by the other', () => done(head) === 1)
  assert.ok(aborted)
  assert.match(String(head.log.byKey('Rollout/1/slot/0')?.actor), new RegExp(second.name))
  for (const one of letGo) one()
  await until('given back', async () => (await queued(head, QUEUE)) === 0)
  assert.is(done(head), 1)
  for (const one of [first, second]) await one.stop()
  await head.close()
})

test('work that never ends keeps its slot for its time once more, and not for good', async () => {
  const head = await startTestHead()
  const play = (rollout: string) => (rollout.endsWith('/0') ? new Promise<void>(() => {}) : Promise.resolve())
  const worker = environmentWorker(play, { deadlineMs: 200, concurrency: 1 })
  const decider = toyEnvironment({ iterations: 1, rollouts: 3 })
  const actor = await environment(head, { worker, decider, attempts: 2 })
  head.service.append([begun])
  await until('the others are played', () => done(head) === 2)
  await until('it has failed for good', () => head.log.byKey('Rollout/1/slot/0')?.type === 'RolloutFailed')
  await actor.stop()
  await head.close()
})

test('a shared job that fails for good ends in events, and where it cannot the run is told to pause', async () => {
  const failing: Worker = { ...idleWorker, shared: new Set(['train']) }
  const failures = (head: TestHead) =>
    [...head.log.events({ types: ['WorkFailed'] })].map(({ data }) => data as Record<string, unknown>)
  for (const goesOn of [true, false]) {
    const head = await startTestHead()
    const giveUp = () => (goesOn ? [policyUpdated(1)] : null)
    const actor = await policy(head, { worker: failing, decider: toyPolicy(), giveUp })
    head.service.append([completed])
    await until('given up', () => failures(head).length === 1)
    const [{ done, attempts, error, ...rest }] = failures(head)
    assert.equal({ done, attempts, goesOn: rest.goesOn }, { done: 'PolicyUpdated/1', attempts: 2, goesOn })
    assert.match(String(error), /no handler for the job 'train'/)
    assert.is(head.log.byKey('PolicyUpdated/1') !== null, goesOn)
    await until('no longer queued', async () => (await queued(head, 'rl-test-work-policy')) === 0)
    await actor.stop()
    await head.close()
  }
})

test('a job of the decider that fails for good says so before its process ends', async () => {
  const head = await startTestHead()
  const actor = await policy(head, { worker: idleWorker, decider: toyPolicy() })
  head.service.append([completed])
  await actor.done.catch(() => {})
  const [failed] = [...head.log.events({ types: ['WorkFailed'] })]
  assert.equal(failed?.type === 'WorkFailed' && [failed.data.done, failed.data.goesOn], [
    'PolicyUpdated/1',
    false,
  ])
  const again = await policy(head, { worker: policyWorker, decider: toyPolicy() })
  await until('done by the next process', () => head.log.byKey('PolicyUpdated/1') !== null)
  await again.stop()
  await head.close()
})

test('a rollout whose trajectory the log cannot take is left out at once, and told', async () => {
  const head = await startTestHead()
  const honest = environmentWorker()
  /** An environment that counts one step too many. */
  const offByOne: Worker = {
    ...honest,
    jobs: {
      async play(request, context) {
        const [{ type, data }] = await honest.jobs.play!(request, context)
        return [{ type, data: { ...data, steps: 2 } } as NewEvent]
      },
    },
  }
  const actor = await environment(head, {
    worker: offByOne,
    decider: toyEnvironment({ iterations: 1, rollouts: 1 }),
    attempts: MANY,
  })
  head.service.append([begun])
  await until('told', () => head.log.countOf('WorkFailed') === 1)
  const failed = head.log.byKey('Rollout/1/slot/0')
  assert.is(failed?.type, 'RolloutFailed')
  assert.match(
    failed?.type === 'RolloutFailed' ? failed.data.error : '',
    /observations: there are 2 elements, not 3/,
  )
  const [told] = [...head.log.events({ types: ['WorkFailed'] })]
  assert.equal(told.type === 'WorkFailed' && [told.data.attempts, told.data.goesOn], [1, true])
  await actor.stop()
  await head.close()
})

test('a further worker leaves it to the process with the role to say that the run cannot go on', async () => {
  const head = await startTestHead()
  const failing: Worker = {
    shared: new Set(['train']),
    jobs: { train: async () => Promise.reject(new Error('out of memory')) },
  }
  const further = await policy(head, { worker: failing, attempts: 1 })
  const job = { kind: 'train', done: 'PolicyUpdated/1', input: {}, deadlineMs: 30_000 }
  await head.bus.publishWork(subjects.work('policy'), pack({ job, cause: null }), 'once')
  await until('tried', () => head.log.countOf('ActorFailed') === 1)
  const again = await policy(head, { worker: failing, decider: toyPolicy(), attempts: 1 })
  await until('told', () => head.log.countOf('WorkFailed') === 1)
  const [told] = [...head.log.events({ types: ['WorkFailed'] })]
  assert.is(told.actor, again.name)
  for (const one of [further, again]) await one.stop()
  await head.close()
})

test.run()
