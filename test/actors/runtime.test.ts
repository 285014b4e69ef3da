import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { type ActorOptions, type ActorStatus, startActor } from '../../src/actors/runtime.ts'
import { pack, unpack } from '../../src/events/msgpack.ts'
import { subjectsOf } from '../../src/events/subjects.ts'
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
  return startActor({ run: head.folder.run, address: head.address, heartbeatMs: 200, ...options })
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
  const [answer] = await head.bus.gather(subjectsOf('test').call('status.policy'), pack({}), { waitMs: 300 })
  const status = unpack(answer) as ActorStatus
  assert.is(status.role, 'policy')
  assert.is(status.decider, true)
  assert.is(status.state, 'working')
  await Promise.all(actors.map((one) => one.stop()))
  await head.close()
})

test.run()
