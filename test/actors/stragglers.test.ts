import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { startActor } from '../../src/actors/runtime/actor.ts'
import { openStragglers } from '../../src/actors/runtime/stragglers.ts'
import { systemClock } from '../../src/clock.ts'
import { startTestHead, until } from '../support/run.ts'
import { environmentWorker, idleWorker, runStarted, toyEnvironment } from '../support/toy.ts'

function clockAt() {
  let now = 0
  function turn(ms: number): void {
    now += ms
  }
  return { turn, clock: { ...systemClock, monotonic: () => now } }
}

test('work is late after three times the 95th percentile, once twenty durations are known', () => {
  const { clock, turn } = clockAt()
  const stragglers = openStragglers(clock)
  stragglers.begin('early')
  for (let index = 0; index < 19; index++) {
    stragglers.begin(`${index}`)
    turn(10_000)
    stragglers.end(`${index}`)
  }
  assert.equal(stragglers.late(), [], 'nineteen are too few')
  stragglers.begin('last')
  turn(10_000)
  stragglers.end('last')
  assert.equal(stragglers.late(), ['early'])
  stragglers.given('early')
  assert.equal(stragglers.late(), [], 'each is given out once')
  stragglers.begin('late')
  turn(30_000)
  assert.equal(stragglers.late(), [])
  turn(1)
  assert.equal(stragglers.late(), ['late'])
})

test('a delay of less than five seconds is none', () => {
  const { clock, turn } = clockAt()
  const stragglers = openStragglers(clock)
  for (let index = 0; index < 20; index++) {
    stragglers.begin(`${index}`)
    turn(1)
    stragglers.end(`${index}`)
  }
  stragglers.begin('x')
  turn(5_000)
  assert.equal(stragglers.late(), [])
})

test('a rollout that hangs on one host is played by a second one, and the late result is ignored', async () => {
  const rollouts = 24
  const head = await startTestHead({ heartbeatMs: 60_000, copies: true })
  head.service.append([runStarted])
  let release = () => {}
  const released = new Promise<void>((resolve) => {
    release = resolve
  })
  let tries = 0
  let isOver = false
  const worker = environmentWorker(
    async (rollout) => {
      if (!rollout.endsWith('/23') || ++tries > 1) return
      await released
      isOver = true
    },
    { concurrency: rollouts, deadlineMs: 600_000 },
  )
  const shared = { role: 'environment', run: 'test', heartbeatMs: 60_000 } as const
  const actors = [
    await startActor({
      ...{ ...shared, address: head.addressOf('environment'), worker: idleWorker },
      decider: toyEnvironment({ iterations: 1, rollouts }),
    }),
    await startActor({ ...shared, address: head.addressOf('environment-worker'), worker }),
    await startActor({ ...shared, address: head.addressOf('environment-worker'), worker }),
  ]
  head.service.append([
    { type: 'IterationStarted', data: { iteration: 1, policyVersion: 0, rewardModelVersion: 0 } },
  ])
  await until('all is done', () => head.log.countByType().TrajectoryCompleted === rollouts)
  assert.is(tries, 2)
  assert.is(isOver, false)
  release()
  await until('the first has ended as well', () => actors.every((one) => one.status().waitsInAll === 0))
  const { TrajectoryCompleted, RolloutFailed, ActorFailed } = head.log.countByType()
  assert.equal([TrajectoryCompleted, RolloutFailed, ActorFailed], [rollouts, undefined, undefined])
  for (const one of actors) await one.stop()
  await head.close()
})

test.run()
