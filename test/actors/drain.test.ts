/** A worker that is told to end: the messages of its work would come again by themselves only after two minutes. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { type Actor, startActor } from '../../src/actors/runtime/actor.ts'
import type { Worker } from '../../src/actors/runtime/worker.ts'
import type { NewEvent } from '../../src/events/catalogue.ts'
import { startProcess } from '../support/processes.ts'
import { startTestHead, type TestHead, temporaryFolder, until } from '../support/run.ts'
import { environmentWorker, idleWorker, runStarted, toyEnvironment } from '../support/toy.ts'

const ROLLOUTS = 8
const begun: NewEvent = {
  type: 'IterationStarted',
  data: { iteration: 1, policyVersion: 0, rewardModelVersion: 0 },
}

function startWorker(head: TestHead, worker: Worker): Promise<Actor> {
  const address = head.addressOf('environment-worker')
  return startActor({ role: 'environment', run: 'test', address, heartbeatMs: 60_000, worker })
}

async function startRun() {
  const head = await startTestHead({ heartbeatMs: 60_000 })
  head.service.append([runStarted])
  const decider = await startActor({
    ...{ role: 'environment', run: 'test', address: head.addressOf('environment'), heartbeatMs: 60_000 },
    worker: idleWorker,
    decider: toyEnvironment({ iterations: 1, rollouts: ROLLOUTS }),
  })
  return { head, decider }
}

/** Plays the first half when it is told to, and the rest never. */
function halfWorker() {
  let release = () => {}
  const released = new Promise<void>((resolve) => {
    release = resolve
  })
  const begunHere = new Set<string>()
  const worker = environmentWorker(
    (rollout) => {
      begunHere.add(rollout)
      return Number(rollout.split('/').at(-1)) < ROLLOUTS / 2 ? released : new Promise(() => {})
    },
    { concurrency: ROLLOUTS },
  )
  return { worker, begunHere, release: () => release() }
}

const done = ({ log }: TestHead) => log.countByType().TrajectoryCompleted ?? 0

function checkWhole({ log }: TestHead): void {
  const { RolloutRequested, TrajectoryCompleted, RolloutFailed, ActorFailed } = log.countByType()
  assert.equal(
    { RolloutRequested, TrajectoryCompleted, RolloutFailed, ActorFailed },
    {
      RolloutRequested: ROLLOUTS,
      TrajectoryCompleted: ROLLOUTS,
      RolloutFailed: undefined,
      ActorFailed: undefined,
    },
  )
}

test('a worker that drains finishes what it can, and another does the rest at once', async () => {
  const { head, decider } = await startRun()
  const half = halfWorker()
  const leaving = await startWorker(head, half.worker)
  head.service.append([begun])
  await until('all in hand', () => half.begunHere.size === ROLLOUTS)
  const drained = leaving.drain(1_000)
  half.release()
  await drained
  assert.is(done(head), ROLLOUTS / 2)
  const next = await startWorker(head, environmentWorker())
  await until('the rest is done', () => done(head) === ROLLOUTS, 30_000)
  checkWhole(head)
  for (const one of [next, decider]) await one.stop()
  await head.close()
})

test('a worker that drains begins nothing more: new work goes to another', async () => {
  const { head, decider } = await startRun()
  let begunHere = 0
  const leaving = await startWorker(
    head,
    environmentWorker(() => {
      begunHere++
      return new Promise(() => {})
    }),
  )
  const drained = leaving.drain(0)
  head.service.append([begun])
  const next = await startWorker(head, environmentWorker())
  await drained
  await until('all is done', () => done(head) === ROLLOUTS, 30_000)
  assert.is(begunHere, 0)
  checkWhole(head)
  for (const one of [next, decider]) await one.stop()
  await head.close()
})

test('a worker that drains ends as soon as its work is over', async () => {
  const { head, decider } = await startRun()
  const worker = await startWorker(head, environmentWorker())
  head.service.append([begun])
  await until('all is done', () => done(head) === ROLLOUTS, 30_000)
  await worker.drain(3_600_000)
  await decider.stop()
  await head.close()
})

test('a process that no head started ends with status 0 on SIGTERM', async () => {
  const head = await startTestHead()
  const config = { environment: { name: 'simulated' } }
  head.service.append([{ ...runStarted, data: { ...runStarted.data, config } } as NewEvent])
  const { url, password } = head.addressOf('environment-worker')
  const words = ['--role', 'environment', '--worker', '--run', 'test', '--nats', url, '--grace', '5']
  const role = startProcess(['src/main.ts', ...words], {
    NATS_USER: 'environment-worker',
    NATS_PASSWORD: String(password),
    RL_RUNS: temporaryFolder(),
  })
  await until('the role is there', () => head.watch.actors().length > 0, 120_000)
  role.process.kill('SIGTERM')
  assert.is(await role.status, 0, role.output())
  assert.match(role.output(), /no new work; the work in hand has 5 s to end/)
  await head.close()
})

test.run()
