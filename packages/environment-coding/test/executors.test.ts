/** Executors: processes that run programs for the others, out of a queue. The broker is real, and so are those that are killed. */

import { randomBytes } from 'node:crypto'
import { RlError } from 'rlanything/kit'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { openElsewhere } from '../../../src/actors/executing/elsewhere.ts'
import { makeKeptResults, openKeptResults } from '../../../src/actors/executing/kept.ts'
import { executorQueue } from '../../../src/actors/executing/requests.ts'
import { answeringWork } from '../../../src/actors/executing/worker.ts'
import { type Actor, startActor } from '../../../src/actors/runtime/actor.ts'
import { digestOf } from '../../../src/events/digest.ts'
import { connectLog } from '../../../src/events/log-client.ts'
import { connectBus } from '../../../src/events/nats/connect.ts'
import type { User } from '../../../src/events/users.ts'
import { eventsBelow } from '../../../test/support/logged.ts'
import { startHead, startProcess } from '../../../test/support/processes.ts'
import { startTestHead, type TestHead, temporaryFolder, until } from '../../../test/support/run.ts'
import { openProvider } from './sandboxes.ts'

type Perform = (work: Uint8Array, signal: AbortSignal) => Promise<Uint8Array>

const startExecutorHead = () => startTestHead({ queues: [executorQueue('test')] })

function executor(head: TestHead, perform: Perform, concurrency = 4): Promise<Actor> {
  return startActor({
    role: 'environment',
    run: 'test',
    address: head.addressOf('environment-worker'),
    heartbeatMs: 200,
    attempts: 3,
    worker: {
      jobs: {},
      answers: [answeringWork('test', concurrency, perform)],
    },
  })
}

async function asker(head: TestHead, user: User, deadlineMs = 60_000) {
  const bus = await connectBus(head.addressOf(user))
  const log = connectLog({ bus, run: 'test', actor: user === 'environment' ? 'environment' : 'reward-model' })
  const elsewhere = openElsewhere(log, deadlineMs)
  return {
    bus,
    log,
    perform: elsewhere.perform,
    async close() {
      elsewhere.close()
      log.close()
      await bus.close()
    },
  }
}

const echo: Perform = async (work) => Buffer.concat([Buffer.from('done '), work])
const textOf = (bytes: Uint8Array) => Buffer.from(bytes).toString()

async function codeOf(promise: Promise<unknown>): Promise<string> {
  try {
    await promise
    return 'none'
  } catch (error) {
    if (error instanceof RlError) return error.code
    throw error
  }
}

test('work of both roles is done by executors, whatever its size', async () => {
  const head = await startExecutorHead()
  const [one, other] = [await asker(head, 'environment'), await asker(head, 'reward-model-worker')]
  // Asked before there is an executor: it waits in the queue.
  const early = one.perform(Buffer.from('early'))
  const actors = [await executor(head, echo), await executor(head, echo)]
  assert.is(textOf(await early), 'done early')
  const answers = await Promise.all(
    Array.from({ length: 50 }, (_, i) => (i % 2 ? one : other).perform(Buffer.from(String(i)))),
  )
  assert.equal(
    answers.map(textOf),
    answers.map((_, i) => `done ${i}`),
  )
  const large = randomBytes(3_000_000)
  assert.ok(Buffer.concat([Buffer.from('done '), large]).equals(await other.perform(large)))
  for (const close of [one.close, other.close, ...actors.map(({ stop }) => stop), head.close]) await close()
})

test('what fails at one executor is tried again, and at last fails: the asker is told and nothing else follows', async () => {
  const head = await startExecutorHead()
  const one = await asker(head, 'environment')
  let tries = 0
  const actor = await executor(head, async (work) => {
    tries++
    if (textOf(work) === 'twice' && tries === 3) return echo(work, AbortSignal.timeout(1))
    throw new RlError('no sandbox here', { code: 'coding.sandbox' })
  })
  assert.is(textOf(await one.perform(Buffer.from('twice'))), 'done twice')
  assert.is(tries, 3)
  assert.is(await codeOf(one.perform(Buffer.from('never'))), 'executor.failed')
  assert.is(tries, 6)
  for (const close of [one.close, actor.stop, head.close]) await close()
})

test('nobody waits longer than the deadline; what is too late is not done', async () => {
  const head = await startExecutorHead()
  const one = await asker(head, 'environment', 300)
  assert.is(await codeOf(one.perform(Buffer.from('nobody is there'))), 'executor.late')
  const abort = new AbortController()
  const aborted = one.perform(Buffer.from('x'), abort.signal)
  abort.abort(new RlError('enough', { code: 'test.enough' }))
  assert.is(await codeOf(aborted), 'test.enough')
  for (const close of [one.close, head.close]) await close()
})

test('work that does not hear of its deadline keeps its slot for its time once more, and not for good', async () => {
  const head = await startExecutorHead()
  const [hurried, patient] = [await asker(head, 'environment', 200), await asker(head, 'reward-model-worker')]
  const perform: Perform = (work, signal) =>
    textOf(work) === 'never' ? new Promise(() => {}) : echo(work, signal)
  const actor = await executor(head, perform, 1)
  assert.is(await codeOf(hurried.perform(Buffer.from('never'))), 'executor.late')
  assert.is(textOf(await patient.perform(Buffer.from('x'))), 'done x')
  for (const close of [hurried.close, patient.close, actor.stop, head.close]) await close()
})

test('garbage in the queue is a dead letter; what kept results a wiped store had is worked out again', async () => {
  const head = await startExecutorHead()
  await makeKeptResults(head.bus, 'test')
  const one = await asker(head, 'environment')
  const actor = await executor(head, echo)
  for (const body of [new Uint8Array([0xc1]), Buffer.from('{}'), randomBytes(64)])
    head.bus.publish(executorQueue('test').subject, body)
  assert.is(textOf(await one.perform(Buffer.from('x'))), 'done x')
  await until('dead letters', () => head.log.deadLetters(0).total >= 3)

  const kept = openKeptResults(one.log)
  assert.is(await kept.get('a1'), null)
  kept.set('a1', Buffer.from('known'))
  await until('it is kept', async () => (await kept.get('a1')) !== null)
  assert.is(textOf((await openKeptResults(one.log).get('a1')) ?? Buffer.from('')), 'known')
  await head.bus.request('$JS.API.STREAM.DELETE.rl-test-kept', new Uint8Array(0), { timeoutMs: 60_000 })
  assert.is(await kept.get('a1'), null)
  for (const close of [one.close, actor.stop, head.close]) await close()
})

const provider = await openProvider('bwrap')
await provider?.close()

const SETTINGS = [
  'environment.name=coding',
  'policy.provider=simulated',
  'policy.acting=free',
  'rewardModel.provider=simulated',
  'rewardModel.judging=group',
  'rewardModel.samples=6',
  'environment.tasks=8',
  'environment.tasksPerIteration=4',
  'environment.rolloutsPerTask=6',
  'evaluation.splits=[]',
  'run.iterations=2',
  'run.heartbeatSeconds=0.5',
]

test('a run whose executors are killed and joined ends with the events of one without executors', async () => {
  if (!provider) return
  const root = temporaryFolder()
  const events = eventsBelow(root)
  const alone = startHead(root, 'alone', SETTINGS)
  assert.is(await alone.status, 0, alone.output())

  const head = startHead(root, 'shared', [...SETTINGS, 'environment.coding.sandbox.executors=1'])
  const executors = () =>
    events('shared', ['ActorStarted']).filter(({ data }) => data.note.startsWith('executor: '))
  await until('an executor', () => executors().length > 0, 240_000)
  const joined = startProcess(['src/main.ts', '--role', 'executor', '--run', 'shared'], { RL_RUNS: root })
  await until('a program was tested', () => events('shared', ['ProgramTested']).length > 0, 240_000)
  process.kill(executors()[0].data.pid, 'SIGKILL')
  assert.is(await head.status, 0, head.output())
  joined.process.kill('SIGTERM')
  await joined.status
  assert.ok(executors().length >= 2)
  assert.equal(events('shared', ['RolloutFailed']), [])
  assert.is(digestOf(events('shared')), digestOf(events('alone')))
})

test.run()
