/** Live events of a subscription: the buffer that has a limit, and the check that none is missing or false. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { EventType } from '../../src/events/catalogue.ts'
import { decodeLoggedAsync, encodeEnvelope } from '../../src/events/codec.ts'
import { createLiveBuffer, type LiveEvent } from '../../src/events/live-buffer.ts'
import { createLiveCheck } from '../../src/events/live-check.ts'

function live(position: number, type: EventType = 'RunPaused', run = 'a'): LiveEvent {
  const id = `00000000-0000-7000-8000-${String(position).padStart(12, '0')}`
  const data = { reason: String(position) }
  return {
    position,
    type,
    body: encodeEnvelope({ id, type, v: 1, run, actor: 'head', time: 1, cause: null, data }),
  }
}

const buffer = suite('buffer')

buffer('events are taken once, in order', () => {
  const events = createLiveBuffer()
  assert.equal([events.isEmpty(), events.last()], [true, null])
  for (const position of [1, 2]) assert.ok(events.push(live(position)))
  assert.equal([events.isEmpty(), events.last()], [false, 2])
  assert.equal(
    events.take().map(({ position }) => position),
    [1, 2],
  )
  assert.ok(events.isEmpty())
})

for (const [what, limit] of [
  ['events', { maxEvents: 2 }],
  ['bytes', { maxBytes: live(1).body.byteLength + 1 }],
] as const)
  buffer(`a full one drops all but the newest (${what})`, () => {
    const events = createLiveBuffer(limit)
    assert.equal(
      [1, 2, 3].map((position) => events.push(live(position))),
      [true, true, false],
    )
    assert.equal(
      events.take().map(({ position }) => position),
      [3],
    )
  })

const check = suite('check')

function checked(wanted: readonly EventType[] | null = null) {
  const faults: unknown[] = []
  const log = {
    run: 'a',
    decode: (position: number, body: Uint8Array) =>
      decodeLoggedAsync(body, position, async () => new Uint8Array()),
  }
  const take = createLiveCheck(log, { fault: (fault) => faults.push(fault) }, wanted && new Set(wanted))
  return async (from: number, ...events: readonly LiveEvent[]) => {
    const { ready, ...rest } = await take(events, from)
    return { ready: ready.map(({ position }) => position), ...rest, faults: faults.length }
  }
}

check('known events are dropped, and a gap ends the batch', async () => {
  const result = await checked()(2, live(1), live(2), live(2), live(3), live(5))
  assert.equal(result, { ready: [2, 3], next: 4, isBroken: true, faults: 0 })
})

check('events of other types count and are not returned', async () => {
  const result = await checked(['RunResumed'])(1, live(1), live(2, 'RunResumed'), live(3))
  assert.equal(result, { ready: [2], next: 4, isBroken: false, faults: 0 })
})

for (const [what, event] of [
  ['of another run', live(2, 'RunPaused', 'b')],
  ['of another type than its subject', { ...live(2), type: 'RunResumed' }],
  ['that is no event', { ...live(2), body: Uint8Array.of(0xc1) }],
] as const)
  for (const wanted of [null, ['RunFailed']] as const)
    check(`a message ${what} is a fault and ends the batch, wanted or not (${wanted})`, async () => {
      const result = await checked(wanted)(1, live(1), event, live(3))
      assert.equal(result, { ready: wanted ? [] : [1], next: 2, isBroken: true, faults: 1 })
    })

buffer.run()
check.run()
