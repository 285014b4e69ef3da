/** Which process has a role, and since when nobody has it. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { openLeases, VACANT_BEATS } from '../../../src/actors/head/leases.ts'
import type { EventData } from '../../../src/events/catalogue.ts'
import type { CheckedEvent } from '../../../src/events/codec.ts'
import { systemPlatform } from '../../../src/platform/platform.ts'

const BEAT = 100

function leases() {
  let now = 0
  const heard = new Map<string, number>()
  const platform = { ...systemPlatform, clock: { ...systemPlatform.clock, monotonic: () => now } }
  const opened = openLeases({
    run: 'test',
    heartbeatMs: BEAT,
    platform,
    heardAt: (worker) => heard.get(worker),
  })
  return {
    ...opened,
    pass(ms: number) {
      now += ms
    },
    hear: (worker: string) => void heard.set(worker, now),
  }
}

const started = (worker: string): EventData<'ActorStarted'> => ({
  role: 'policy',
  worker,
  host: 'here',
  pid: 1,
  node: 'v0',
  decider: true,
  note: '',
})

const event = (envelope: object) => ({ envelope }) as CheckedEvent
const startOf = (worker: string) => event({ type: 'ActorStarted', data: started(worker) })

test('a second process gets a role only after the first was silent', () => {
  const { admit, hear, pass, holds } = leases()
  assert.is(admit(startOf('policy/a')), null)
  pass(BEAT)
  hear('policy/a')
  pass(BEAT)
  assert.is(admit(startOf('policy/b'))?.code, 'actor.second-decider')
  pass(2 * BEAT)
  assert.is(admit(startOf('policy/b')), null)
  assert.ok(holds('policy', 'policy/b'))
})

test('a decision of a process that lost its role is refused', () => {
  const { admit, take } = leases()
  const judged = (actor: string) => event({ type: 'TrajectoryJudged', actor })
  assert.is(admit(judged('reward-model/a')), null)
  take({ ...started('reward-model/b'), role: 'reward-model' })
  assert.is(admit(judged('reward-model/a'))?.code, 'actor.fenced')
  assert.is(admit(judged('reward-model/b')), null)
})

test('a role is told of once if nobody has it for too long', () => {
  const { take, release, pass, newlyVacant, pardon } = leases()
  take(started('policy/a'))
  release('policy/a')
  pass(VACANT_BEATS * BEAT + 1)
  pardon(2)
  assert.equal(newlyVacant(), [])
  pass(2)
  assert.equal(newlyVacant(), [{ role: 'policy', vacantMs: VACANT_BEATS * BEAT + 1 }])
  assert.equal(newlyVacant(), [])
})

test.run()
