import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer } from 'node:net'
import { decode as unpack } from '@msgpack/msgpack'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import type { Job } from '../../src/actors/decider/jobs.ts'
import { rolloutFailure } from '../../src/actors/environment/rollout-queue.ts'
import { watchActors } from '../../src/actors/head/watch.ts'
import { type ActorOptions, startActor } from '../../src/actors/runtime/actor.ts'
import { knowKeys, redact } from '../../src/actors/runtime/redact.ts'
import type { ActorStatus } from '../../src/actors/runtime/status.ts'
import { jobQueue } from '../../src/actors/runtime/work.ts'
import { type JobContext, performJob, type Worker } from '../../src/actors/runtime/worker.ts'
import { environmentOf } from '../../src/broker/connection.ts'
import { type Clock, systemClock } from '../../src/clock.ts'
import { RlError } from '../../src/errors.ts'
import type { LoggedEvent, NewEvent } from '../../src/events/catalogue.ts'
import { pack } from '../../src/events/msgpack.ts'
import { subjectsOf } from '../../src/events/subjects.ts'
import { workerOf } from '../../src/events/users.ts'
import { systemPlatform } from '../../src/platform/platform.ts'
import { startProcess } from '../support/processes.ts'
import { startTestHead, type TestHead, until } from '../support/run.ts'
import {
  environmentWorker,
  idleWorker,
  policyWorker,
  runStarted,
  toyEnvironment,
  toyHead,
  toyPolicy,
} from '../support/toy.ts'

const plan = { iterations: 3, rollouts: 8 }

function actor(head: TestHead, options: Pick<ActorOptions, 'role' | 'worker'> & Partial<ActorOptions>) {
  const { role, decider } = options
  const address = head.addressOf(decider ? role : workerOf(role))
  return startActor({ run: head.folder.run, address, heartbeatMs: 200, ...options })
}

/** A proxy that lets so many connections through to the broker and hangs up on all others. */
async function startGate(target: string, most: number): Promise<{ url: string; close: () => void }> {
  const { port } = new URL(target)
  let count = 0
  const server = createServer((incoming) => {
    incoming.on('error', () => {})
    if (++count > most) return void incoming.destroy()
    const outgoing = connect({ host: '127.0.0.1', port: Number(port) })
    outgoing.on('error', () => incoming.destroy())
    incoming.pipe(outgoing).pipe(incoming)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `nats://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () => server.close(),
  }
}

test('three deciders and their workers go through a run', async () => {
  const head = await startTestHead()
  const actors = [
    await actor(head, { role: 'head', worker: idleWorker, decider: toyHead(plan) }),
    await actor(head, { role: 'policy', worker: policyWorker, decider: toyPolicy() }),
    await actor(head, { role: 'environment', worker: environmentWorker(), decider: toyEnvironment(plan) }),
    await actor(head, { role: 'environment', worker: environmentWorker() }),
  ]
  head.service.append([runStarted])
  await until('completed', () => head.log.byKey('RunCompleted') !== null)
  const counts = head.log.countByType()
  assert.is(counts.TrajectoryCompleted, plan.iterations * plan.rollouts)
  assert.is(counts.RolloutRequested, plan.iterations * plan.rollouts)
  assert.is(counts.PolicyUpdated, plan.iterations)
  assert.is(counts.IterationCompleted, plan.iterations)
  const completed = head.log.byKey('IterationCompleted/1')
  assert.is(head.log.byId(String(completed?.cause))?.type, 'TrajectoryCompleted')
  const answer = await head.bus.request(subjectsOf('test').call('status.policy'), pack({}), {
    timeoutMs: 60_000,
  })
  const status = unpack(answer) as ActorStatus
  assert.is(status.role, 'policy')
  assert.is(status.decider, true)
  assert.is(status.state, 'working')
  await Promise.all(actors.map((one) => one.stop()))
  await head.close()
})

test('a second decider of a role is refused while the first lives, and let in when it has left', async () => {
  // A decider of which nothing is heard for two heartbeats does not live: a busy machine may be late by half a second.
  const heartbeatMs = 1_500
  const head = await startTestHead({ heartbeatMs })
  const options = { role: 'policy', worker: policyWorker, decider: toyPolicy(), heartbeatMs } as const
  const first = await actor(head, options)
  const refused = await actor(head, options).catch((error: unknown) => error)
  assert.instance(refused, RlError)
  assert.is((refused as RlError).code, 'actor.second-decider')
  assert.match((refused as RlError).message, new RegExp(first.name))
  const worker = await actor(head, { role: 'policy', worker: policyWorker })
  await first.stop()
  const second = await actor(head, options)
  for (const one of [worker, second]) await one.stop()
  await head.close()
})

test('a process that computes for long is no stall, and one that is stopped is', async () => {
  const head = await startTestHead()
  head.service.append([runStarted])
  const child = spawn(process.execPath, ['test/actors/busy-process.ts', '10000'], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, ...environmentOf(head.addressOf('environment-worker')) },
  })
  const decider = await actor(head, {
    role: 'environment',
    worker: idleWorker,
    decider: toyEnvironment({ iterations: 1, rollouts: 1 }),
  })
  head.service.append([
    { type: 'IterationStarted', data: { iteration: 1, policyVersion: 0, rewardModelVersion: 0 } },
  ])
  let said = ''
  child.stdout.on('data', (text) => {
    said += text
  })
  const it = () => head.watch.actors().find(({ pid }) => pid === child.pid)
  const stallsOfIt = () =>
    [...head.log.events({ types: ['StallDetected'] })].filter(({ data }) => data.from === it()?.worker).length
  await until('it says how long its loop has not turned', () => (it()?.blockedMs ?? 0) > 6_000, 60_000)
  // A loop that never turns is ended after `silenceSeconds` all the same.
  assert.ok((head.watch.silentMs('environment', child.pid ?? 0) ?? 0) > 6_000)
  await until('it has computed', () => said.includes('over') && it()?.blockedMs === undefined, 60_000)
  assert.is(stallsOfIt(), 0)
  child.kill('SIGSTOP')
  await until('a stall', () => it()?.stalled === true, 60_000)
  assert.is(stallsOfIt(), 1)
  child.kill('SIGKILL')
  await decider.stop()
  await head.close()
})

test('a process that goes silent is told as a stall within twice its heartbeat, and its work goes to another', async () => {
  const head = await startTestHead()
  head.service.append([runStarted])
  const child = spawn(process.execPath, ['test/actors/silent-process.ts'], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, ...environmentOf(head.addressOf('environment-worker')) },
  })
  const actors = [
    await actor(head, {
      role: 'environment',
      worker: idleWorker,
      decider: toyEnvironment({ iterations: 1, rollouts: 2 }),
    }),
  ]
  head.service.append([
    { type: 'IterationStarted', data: { iteration: 1, policyVersion: 0, rewardModelVersion: 0 } },
  ])
  await once(child.stdout, 'data')
  const inHand = () => head.watch.actors().some(({ pid, waits }) => pid === child.pid && waits.length === 2)
  await until('a heartbeat that names the rollouts', inHand)
  child.kill('SIGSTOP')
  const silent = () => head.watch.actors().find(({ pid, stalled }) => pid === child.pid && stalled)
  await until('a stall', () => silent() !== undefined)
  // On a busy machine others may have been late as well.
  const stalls = [...head.log.events({ types: ['StallDetected'] })] as LoggedEvent<'StallDetected'>[]
  const stall = stalls.findLast(({ data }) => data.from === silent()?.worker)
  assert.match(String(stall?.data.waitingFor), /heartbeat of environment.*Rollout\/1\/slot\/0/)
  assert.ok(stall && stall.data.deadline - stall.data.since <= 400)
  actors.push(await actor(head, { role: 'environment', worker: environmentWorker() }))
  await until('the work done by another', () => head.log.countByType().TrajectoryCompleted === 2)
  child.kill('SIGKILL')
  for (const one of actors) await one.stop()
  await head.close()
})

test('an actor that is stopped waits for no worker and no timer, and is heard of until it has left', async () => {
  const head = await startTestHead()
  head.service.append([runStarted])
  const timers = new Set<() => void>()
  const clock: Clock = {
    ...systemClock,
    // Deadlines of the end never come; a timer that nobody cancels stays in the set.
    after(ms, callback) {
      if (ms < 5_000) return systemClock.after(ms, callback)
      timers.add(callback)
      return () => timers.delete(callback)
    },
  }
  const platform = { ...systemPlatform, clock }
  let release = () => {}
  const answered = new Promise<void>((resolve) => {
    release = resolve
  })
  const queue = jobQueue(head.folder.run, 'adapter')
  // Rollouts wait for a policy that is no more, and an answer is on its way.
  const take = () => answered.then(() => ({ done: true as const }))
  const deaf = await actor(head, {
    role: 'environment',
    worker: environmentWorker(() => new Promise(() => {})),
    platform,
  })
  const adapter = await actor(head, {
    role: 'adapter',
    worker: { ...idleWorker, answers: [{ queue, concurrency: 1, take }] },
    platform,
  })
  const environment = await actor(head, {
    role: 'environment',
    worker: idleWorker,
    decider: toyEnvironment({ iterations: 1, rollouts: 2 }),
  })
  head.service.append([
    { type: 'IterationStarted', data: { iteration: 1, policyVersion: 0, rewardModelVersion: 0 } },
  ])
  await head.bus.publishWork(queue.subject, pack({}), 'answer')
  await until('the rollouts are in hand', () => deaf.status().waitsInAll === 2)
  await deaf.stop()
  let beats = 0
  const leaving: boolean[] = []
  head.bus.subscribe(subjectsOf('test').tapOf('heartbeat', '*'), ({ body }) => {
    const status = unpack(body) as ActorStatus
    if (status.worker !== adapter.name) return
    beats++
    leaving.push(status.leaving)
  })
  const stopped = adapter.stop()
  const before = beats
  await until('it is heard of while it ends', () => beats > before + 2)
  release()
  await stopped
  await until('it has left', () => leaving.includes(true))
  assert.is(leaving.indexOf(true), leaving.length - 1)
  assert.is(timers.size, 0)
  await environment.stop()
  await head.close()
})

test('work that fails again and again ends in an event; a job of the decider that does ends the actor', async () => {
  const head = await startTestHead()
  const failing = environmentWorker(() => Promise.reject(new Error('no display, Bearer abcdefgh12345678')))
  const environment = await actor(head, {
    role: 'environment',
    worker: failing,
    decider: toyEnvironment({ iterations: 1, rollouts: 1 }),
    attempts: 2,
  })
  head.service.append([
    { type: 'IterationStarted', data: { iteration: 1, policyVersion: 0, rewardModelVersion: 0 } },
  ])
  await until('given up', () => head.log.byKey('Rollout/1/slot/0') !== null)
  const failed = head.log.byKey('Rollout/1/slot/0')
  if (failed?.type !== 'RolloutFailed') throw new Error('expected RolloutFailed')
  assert.is(failed.data.attempts, 2)
  assert.match(failed.data.error, /no display/)
  assert.not(failed.data.error.includes('abcdefgh'))
  await environment.stop()
  const policy = await actor(head, { role: 'policy', worker: idleWorker, decider: toyPolicy(), attempts: 2 })
  head.service.append([
    { type: 'IterationCompleted', data: { iteration: 1, accuracy: { successes: 0, n: 1 }, metrics: {} } },
  ])
  const end = await policy.done.catch((error: unknown) => error)
  assert.match(String(end), /no handler for the job 'train'/)
  const failures = [...head.log.events({ types: ['ActorFailed'] })].filter(
    ({ actor: name }) => name === policy.name,
  )
  assert.equal(
    failures.map(({ data }) => 'willRetry' in data && data.willRetry),
    [true, false],
  )
  await head.close()
})

test('a job without a handler is an error that names its kind', async () => {
  const context = { actor: 'policy/worker' } as JobContext
  const job = { kind: 'judge', done: 'TrajectoryJudged/r', input: {}, deadlineMs: 1 } as Job
  try {
    await performJob(policyWorker, job, context)
    assert.unreachable()
  } catch (error) {
    const { code, message, hint } = error as RlError
    assert.is(code, 'actor.unknown-job')
    assert.match(message, /'judge'/)
    assert.match(hint ?? '', /train/)
  }
})

test('jobs that are shared go through the queue to any worker of the role', async () => {
  const head = await startTestHead()
  const worker: Worker = { ...policyWorker, shared: new Set(['train']) }
  const decider = await actor(head, { role: 'policy', worker, decider: toyPolicy() })
  const helper = await actor(head, { role: 'policy', worker })
  for (let iteration = 1; iteration <= 5; iteration++)
    head.service.append([
      { type: 'IterationCompleted', data: { iteration, accuracy: { successes: 0, n: 1 }, metrics: {} } },
    ])
  await until('all done', () => head.log.countByType().PolicyUpdated === 5)
  for (const one of [decider, helper]) await one.stop()
  await head.close()
})

test('an actor that starts where no head answers ends itself', async () => {
  const head = await startTestHead()
  await head.service.close()
  const end = await actor(head, { role: 'policy', worker: policyWorker, headGoneMs: 1_500 }).catch(
    (error: unknown) => error,
  )
  assert.is((end as RlError).code, 'actor.head-gone')
  await head.close()
})

test('a role that loses the broker while it starts ends, so that another can be started', async () => {
  const config = { environment: { name: 'simulated' } }
  const head = await startTestHead()
  head.service.append([{ ...runStarted, data: { ...runStarted.data, config } } as NewEvent])
  // The probe and the first connection pass, the actor's own does not.
  const proxy = await startGate(head.address.url, 2)
  const role = startProcess(['src/main.ts', '--role', 'environment', '--run', 'test', '--nats', proxy.url], {
    NATS_USER: 'environment',
    NATS_PASSWORD: String(head.addressOf('environment').password),
  })
  let ended = false
  void role.status.then(() => {
    ended = true
  })
  await until('ended', () => ended, 120_000)
  assert.is(await role.status, 1, role.output())
  assert.match(role.output(), /hung up|nobody listens/)
  proxy.close()
  await head.close()
})

test('a role that nobody has any more is missed', async () => {
  const heartbeatMs = 100
  const head = await startTestHead({ heartbeatMs })
  const one = await actor(head, { role: 'policy', worker: policyWorker, decider: toyPolicy(), heartbeatMs })
  await one.stop()
  const missed = () =>
    [...head.log.events({ types: ['StallDetected'] })].filter(
      ({ type, data }) => type === 'StallDetected' && data.waitingFor === 'a process with the role policy',
    )
  await until('missed', () => missed().length > 0, 60_000)
  const [{ data }] = missed()
  assert.ok('since' in data && data.since < Date.now())
  await head.close()
})

test('a role is missed by a head that stands still again and again: that time alone is not counted', async () => {
  const head = await startTestHead()
  const one = await actor(head, { role: 'policy', worker: policyWorker, decider: toyPolicy() })
  let now = 0
  let look = () => {}
  const clock: Clock = {
    ...systemClock,
    monotonic: () => now,
    every(_, callback) {
      look = callback
      return () => {}
    },
  }
  const watch = watchActors(head.log, { heartbeatMs: 80, platform: { ...systemPlatform, clock } })
  const told: NewEvent[] = []
  watch.start(head.bus, (event) => told.push(event))
  // Looks are 10 ms apart, and each tenth comes 100 ms late.
  for (let count = 1; count <= 300; count++) {
    now += count % 10 === 0 ? 100 : 10
    look()
  }
  const roles = told.flatMap(({ data }) => ('from' in data ? [data.from] : []))
  assert.ok(roles.includes('policy'), 'after 2.7 s that count, of 2.4')
  watch.stop()
  await one.stop()
  await head.close()
})

test('secrets do not leave in error texts', () => {
  process.env.TEST_SERVICE_API_KEY = 'key-in-the-environment'
  const text = redact('nats://s3cret@host Bearer abcdefghijk sk-abcdefghijkl key-in-the-environment', [
    'host',
  ])
  assert.is(text, 'nats://***@*** Bearer *** sk-*** ***')
  assert.is(redact('https://me:p@ss@there/v1, a@b'), 'https://***@there/v1, a@b')
  process.env.TEST_MY_ACCESS = 'no-usual-name'
  assert.is(redact('no-usual-name'), 'no-usual-name')
  knowKeys({ policy: { apiKeyEnv: 'TEST_MY_ACCESS' } })
  assert.is(redact('it said no-usual-name'), 'it said ***')
  const asked = { rollout: 'r', iteration: 1, purpose: 'train', slot: 's', task: 't' } as never
  const failed = rolloutFailure(
    asked,
    'env',
    "task 't' cannot be started: https://me:secret@there hung up",
    1,
  )
  assert.is(failed.error, "task 't' cannot be started: https://***@there hung up")
})

test.run()
