/** Lines of the spine that refuse something, each with a test that fails without the line. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { askFor, emitEvent } from '../../src/actors/decider/fold.ts'
import { takeFence } from '../../src/actors/head/fence.ts'
import { openPublisher } from '../../src/actors/head/publisher.ts'
import { startActor } from '../../src/actors/runtime/actor.ts'
import { hostDecider } from '../../src/actors/runtime/decider-host.ts'
import { openKeyFrames } from '../../src/actors/runtime/key-frame.ts'
import { openQueuedWork } from '../../src/actors/runtime/queued-work.ts'
import type { Worker } from '../../src/actors/runtime/worker.ts'
import { systemClock } from '../../src/clock.ts'
import { RlError } from '../../src/errors.ts'
import type { Bus } from '../../src/events/bus.ts'
import type { NewEvent } from '../../src/events/catalogue.ts'
import { connectLog } from '../../src/events/log-client.ts'
import { pack } from '../../src/events/msgpack.ts'
import { connectBus } from '../../src/events/nats/connect.ts'
import { subjectsOf } from '../../src/events/subjects.ts'
import { systemPlatform } from '../../src/platform/platform.ts'
import { openRawNats } from '../support/raw-nats.ts'
import { startTestHead, temporaryFolder, until } from '../support/run.ts'
import { policyUpdated, runStarted, toyDecider, toyTrain } from '../support/toy.ts'

const subjects = subjectsOf('test')

function completed(iteration: number): NewEvent {
  return {
    type: 'IterationCompleted',
    data: { iteration, accuracy: { successes: 0, n: 1 }, metrics: {} },
  }
}

test('a key frame that is taken while a decision is not in the log yet holds the decision', async () => {
  const head = await startTestHead()
  let isRefused = false
  const bus: Bus = {
    ...head.bus,
    request(subject, ...rest) {
      if (!isRefused || subject !== subjects.log('append')) return head.bus.request(subject, ...rest)
      return Promise.reject(new RlError('no answer', { code: 'bus.timeout' }))
    },
  }
  const log = connectLog({ bus, run: 'test', actor: 'head/one' })
  const decider = toyDecider('head', () => ({}), {
    IterationCompleted: () => [emitEvent('RunFailed', { reason: 'decided before the end' })],
  })
  const { folder } = head
  const openFrames = () => openKeyFrames({ folder, decider, configs: [], hashAt: head.log.hashAt, every: 1 })
  const options = { decider, onJob() {}, onSettled() {} }
  const first = await hostDecider({ ...options, log, frames: await openFrames() })
  head.service.append([runStarted])
  await until('it has caught up', () => first.caughtUp() && first.position() === 1)
  isRefused = true
  head.service.append([completed(1)])
  await until('a frame behind the decision', async () => (await openFrames()).found?.position === 2)
  // The process ends before the log takes the decision.
  log.close()
  first.done.catch(() => {})
  assert.is(head.log.countByType().RunFailed, undefined)
  const again = connectLog({ bus: head.bus, run: 'test', actor: 'head/two' })
  const second = await hostDecider({ ...options, log: again, frames: await openFrames() })
  await until('the decision is in the log', () => head.log.countByType().RunFailed === 1)
  await second.stop()
  again.close()
  await head.close()
})

test('an answer of a head that has lost the run is asked for again', async () => {
  const host = await startTestHead({ run: 'host' })
  const nats = host.address
  const root = temporaryFolder()
  await (await startTestHead({ nats, root })).close()
  const second = await startTestHead({ nats, root })
  const bus = await connectBus(nats)
  const log = connectLog({ bus, run: 'test', actor: 'reader' })
  assert.equal(await log.positionsOf(['PolicyUpdated/1']), [null])
  await second.close()
  // A head of the first epoch still answers, and tells of its own log.
  const former = await openRawNats(nats)
  former.subscribe(subjects.log('has'))
  await former.settle()
  const asked = log.positionsOf(['PolicyUpdated/1'])
  for (let answered = 0; answered < 2; ) {
    await until('it is asked', () => former.messages.length > answered)
    const { reply } = former.messages[answered++]
    former.publish(String(reply), pack([7]), { headers: { 'Rl-Epoch': '1' } })
  }
  const third = await startTestHead({ nats, root })
  assert.equal(await asked, [null])
  former.close()
  log.close()
  await bus.close()
  for (const head of [third, host]) await head.close()
})

test('a lease lasts from the question on, and not from its late answer', async () => {
  const head = await startTestHead()
  let ahead = 0
  let isHeld = false
  const held: (() => void)[] = []
  const bus: Bus = {
    ...head.bus,
    store(options) {
      const store = head.bus.store(options)
      return {
        ...store,
        async update(...args) {
          if (isHeld) await new Promise<void>((resolve) => held.push(resolve))
          return store.update(...args)
        },
      }
    },
  }
  const clock = { ...systemClock, monotonic: () => systemClock.monotonic() + ahead }
  const fence = await takeFence({
    ...{ bus, run: 'lease', after: 0, alone: true, leaseMs: 1_000_000, renewMs: 20 },
    platform: { ...systemPlatform, clock },
  })
  isHeld = true
  await until('a renewal waits for its answer', () => held.length === 1)
  ahead += 600_000
  held[0]()
  // The next renewal begins when the late answer was heard.
  await until('the next one waits', () => held.length === 2)
  assert.is(fence.refusal(), null)
  ahead += 600_000
  assert.is(fence.refusal()?.code, 'log.not-held')
  isHeld = false
  for (const go of held) go()
  await fence.release()
  await head.close()
})

test('work whose number another message has in a queue that was made anew is published again', async () => {
  const head = await startTestHead()
  const { bus } = head
  const queue = { name: 'rl-test-numbers', subject: subjects.work('adapter'), ackWaitMs: 60_000 }
  await bus.request('$JS.API.STREAM.DELETE.rl-test-work-adapter', new Uint8Array(), { timeoutMs: 60_000 })
  await bus.ensureWorkQueue(queue)
  const books = openQueuedWork({ bus, queue, onTrouble() {}, sweepMs: 1e9 })
  const body = pack('the work')
  books.open('work', () => ({ subject: queue.subject, body, id: 'work' }))
  await until('it is published', async () => (await bus.queued(queue, 1)) !== null)
  await bus.request('$JS.API.STREAM.DELETE.rl-test-numbers', new Uint8Array(), { timeoutMs: 60_000 })
  await bus.ensureWorkQueue(queue)
  assert.is(await bus.publishWork(queue.subject, pack('other work'), 'other'), 1)
  await books.sweep()
  await until('it is there again', async () => (await bus.queued(queue, 2)) !== null)
  assert.equal((await bus.queued(queue, 2))?.body, body)
  books.stop()
  await head.close()
})

test('what a worker brings when its job is settled already is not appended', async () => {
  const head = await startTestHead()
  const late: NewEvent = {
    type: 'StallDetected',
    data: { owner: 'policy', waitingFor: 'nothing', from: 'late', since: 1, deadline: 2 },
  }
  let begun = false
  const worker: Worker = {
    jobs: {
      async train({ version }, { signal }) {
        if (version > 1) return [policyUpdated(version)]
        begun = true
        await new Promise((resolve) => signal.addEventListener('abort', resolve))
        return [late]
      },
    },
  }
  const decider = toyDecider('policy', () => ({}), {
    IterationCompleted: (_, { iteration }) => [
      askFor('train', `PolicyUpdated/${iteration}`, toyTrain(iteration), 30),
    ],
    PolicyUpdated: () => [],
  })
  const actor = await startActor({
    ...{ role: 'policy', run: 'test', address: head.addressOf('policy'), heartbeatMs: 200 },
    ...{ worker, decider },
  })
  head.service.append([runStarted, completed(1)])
  await until('the job is in hand', () => begun)
  head.service.append([policyUpdated(1), completed(2)])
  // Appends of one process reach the log in their order.
  await until('the next job is done', () => head.log.byKey('PolicyUpdated/2') !== null)
  await actor.stop()
  assert.is(head.log.countByType().StallDetected, undefined)
  await head.close()
})

test('what was published counts as there when the broker has said so, and not before', async () => {
  const head = await startTestHead()
  let flushed: () => void = () => {}
  const bus: Bus = { ...head.bus, flush: () => new Promise((resolve) => (flushed = resolve)) }
  const { log } = head
  head.service.append([runStarted, completed(1)])
  const publisher = openPublisher({ log, bus, work: [], clock: systemClock, epoch: 1, report() {} })
  const before = publisher.confirmed()
  assert.ok(before < 2)
  const reconciled = publisher.reconcile()
  await until('all is published', () => publisher.published() === 2)
  assert.is(publisher.confirmed(), before)
  flushed()
  await until('it is confirmed', () => publisher.confirmed() === 2)
  await reconciled
  publisher.stop()
  await head.close()
})

test.run()
