/** One process of the crash test: `toy-process.ts KIND ROOT`, where KIND is head, policy, environment or environment-worker. */
import { startHeadCore } from '../../src/actors/head/head-core.ts'
import { startActor } from '../../src/actors/runtime/actor.ts'
import { ROLLOUT_WORK } from '../../src/actors/runtime/work.ts'
import { readCredentials, runFolder } from '../../src/broker/connection.ts'
import type { BusAddress } from '../../src/events/bus.ts'
import type { User } from '../../src/events/users.ts'
import { until } from '../support/run.ts'
import {
  environmentWorker,
  idleWorker,
  policyWorker,
  runStarted,
  toyEnvironment,
  toyHead,
  toyPolicy,
} from '../support/toy.ts'

const [kind, root, iterations, rollouts] = process.argv.slice(2)
const plan = { iterations: Number(iterations), rollouts: Number(rollouts) }
const folder = runFolder('crash', root)
const shared = { run: 'crash', heartbeatMs: 300, headGoneMs: 30_000 }

async function findHead(user: User): Promise<BusAddress> {
  await until('a head to join', () => readCredentials(folder, user) !== null)
  return readCredentials(folder, user) as BusAddress
}

/** A rollout takes a few turns of the event loop, so that some are in hand at any kill. */
const worker = environmentWorker(() => new Promise((resolve) => setTimeout(resolve, 20)))

/** The broker may be starting again just now. */
async function join(user: User, start: (address: BusAddress) => Promise<unknown>): Promise<void> {
  for (let attempt = 0; ; attempt++) {
    try {
      await start(await findHead(user))
      return
    } catch (error) {
      if (attempt === 50) throw error
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
  }
}

switch (kind) {
  case 'head': {
    const core = await startHeadCore({ folder, work: [ROLLOUT_WORK], heartbeatMs: 300, minFreeBytes: 0 })
    core.service.append([runStarted])
    await startActor({
      ...shared,
      address: core.address,
      role: 'head',
      decider: toyHead(plan),
      worker: idleWorker,
    })
    break
  }
  case 'policy':
    await join('policy', (address) =>
      startActor({ ...shared, address, role: 'policy', decider: toyPolicy(), worker: policyWorker }),
    )
    break
  case 'environment':
    await join('environment', (address) =>
      startActor({ ...shared, address, role: 'environment', decider: toyEnvironment(plan), worker }),
    )
    break
  default:
    await join('environment-worker', (address) =>
      startActor({ ...shared, address, role: 'environment', worker }),
    )
}
