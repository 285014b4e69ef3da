/** Garbage from each kind of user on every subject that it may publish on, while rollouts are played: nothing goes deaf, dies or comes for ever. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { startActor } from '../../src/actors/runtime/actor.ts'
import { permissionsOf } from '../../src/broker/permissions.ts'
import type { NewEvent } from '../../src/events/catalogue.ts'
import { pack } from '../../src/events/msgpack.ts'
import { subjectsOf } from '../../src/events/subjects.ts'
import { subscribe } from '../../src/events/subscription.ts'
import type { User } from '../../src/events/users.ts'
import { verifyLog } from '../../src/events/verify.ts'
import { openRawNats } from '../support/raw-nats.ts'
import { startTestHead, type TestHead, until } from '../support/run.ts'
import { environmentWorker, toyEnvironment } from '../support/toy.ts'

const subjects = subjectsOf('test')
const MEGABYTE = 1024 * 1024
const DEADLINE_MS = 120_000

function filled(bytes: number, ...start: number[]): Uint8Array {
  const body = new Uint8Array(bytes)
  body.set(start)
  return body
}

/** What no program of ours would send: malformed, deep, wide, oversized, of another meaning. */
const GARBAGE: Readonly<Record<string, Uint8Array>> = {
  empty: new Uint8Array(0),
  'no msgpack': Uint8Array.of(0xc1),
  'cut off': Uint8Array.of(0xdb, 0xff, 0xff, 0xff, 0xff, 0x61),
  'an array of four billion': Uint8Array.of(0xdd, 0xff, 0xff, 0xff, 0xff),
  'a map of four billion': Uint8Array.of(0xdf, 0xff, 0xff, 0xff, 0xff),
  'an extension': Uint8Array.of(0xc7, 0x00, 0x7f),
  'a text that is none': Uint8Array.of(0xa2, 0xff, 0xfe),
  deep: filled(200_000).fill(0x91),
  'a million values': filled(MEGABYTE, 0xdd, 0x00, 0x0f, 0xff, 0x00),
  'two megabytes': filled(2 * MEGABYTE, 0xc6, 0x00, 0x1f, 0xff, 0xfb),
  null: pack(null),
  'a prototype': pack(JSON.parse('{"__proto__": {"polluted": true}, "constructor": 1}')),
  'groups of nothing': pack([[]]),
  'groups of garbage': pack([[new Uint8Array(0)], [Uint8Array.of(0xc1)], [filled(1000).fill(0x91)]]),
  'another kind of request': pack({
    from: -1,
    types: ['x'],
    limit: 1e9,
    keys: [1],
    sha256: '..',
    offset: -5,
    bytes: 1e15,
  }),
  json: Buffer.from('{"job":{"kind":"play","done":"x","deadlineMs":1e99},"cause":null}'),
}

const HEADERS: readonly Readonly<Record<string, string>>[] = [
  {},
  { 'Rl-Position': '1', 'Rl-Epoch': '99999999999999999999', 'Nats-Msg-Id': 'x' },
  { 'Rl-Position': '-1e9', 'Rl-Epoch': 'NaN', 'Nats-Rollup': 'all', 'Nats-Expected-Stream': 'other' },
]

/** Subjects that match what a user may publish on. */
function subjectsOfUser(user: User): readonly string[] {
  const { publish } = permissionsOf('test', user) ?? { publish: [] }
  return publish.flatMap((pattern) =>
    pattern.endsWith('.>')
      ? ['workers', 'policy.act', 'x.y.z', 'status.environment'].map((end) => pattern.replace('>', end))
      : [pattern],
  )
}

async function throwAll(head: TestHead, user: User): Promise<void> {
  const raw = await openRawNats(head.addressOf(user))
  for (const subject of subjectsOfUser(user))
    for (const body of Object.values(GARBAGE)) {
      const most = subject.startsWith('$JS') ? 1000 : body.byteLength
      for (const headers of body.byteLength >= MEGABYTE ? HEADERS.slice(1, 2) : HEADERS)
        raw.publish(subject, body.subarray(0, most), { headers, reply: '_INBOX.nobody' })
    }
  await raw.settle()
  raw.close()
}

/** A head that hears its broker late, for all the garbage on a busy machine, starts it again: what was cut off is thrown once more. */
async function throwAllThrough(head: TestHead, user: User, tries = 3): Promise<void> {
  const restarts = head.broker?.restarts()
  try {
    await throwAll(head, user)
  } catch (error) {
    if (tries === 1) throw error
    await until(`the broker is started again after: ${error}`, () => head.broker?.restarts() !== restarts)
    await until('the head is connected', () => head.bus.connected())
    await throwAllThrough(head, user, tries - 1)
  }
}

test('a run goes on through garbage on every subject', async () => {
  const head = await startTestHead()
  const seen: number[] = []
  const address = { ...head.addressOf('tool'), run: 'test' }
  const subscription = await subscribe(address, ({ position }) => void seen.push(position))
  const begun = (iteration: number): NewEvent => ({
    type: 'IterationStarted',
    data: { iteration, policyVersion: 0, rewardModelVersion: 0 },
  })
  const environment = await startActor({
    role: 'environment',
    run: 'test',
    address: head.addressOf('environment'),
    heartbeatMs: 500,
    worker: { ...environmentWorker(), shared: new Set() },
    decider: toyEnvironment({ iterations: 8, rollouts: 5 }),
  })
  const played = () => head.log.countByType().TrajectoryCompleted ?? 0
  let iteration = 0
  for (const user of ['policy', 'environment', 'environment-worker', 'tool'] as const) {
    head.service.append([begun(++iteration)])
    await throwAllThrough(head, user)
    await until(
      `iteration ${iteration} is played through the garbage of ${user}`,
      () => played() === 5 * iteration,
      DEADLINE_MS,
    )
  }
  const last = head.log.head().position
  await until('the reader has it all', () => subscription.position() >= last, DEADLINE_MS)
  assert.equal(
    seen,
    seen.map((_, index) => index + 1),
  )
  for (const queue of ['RolloutRequested', 'work-environment'])
    await until(
      `${queue} is empty`,
      async () => {
        const answer = await head.bus.request(`$JS.API.STREAM.INFO.rl-test-${queue}`, new Uint8Array(0), {
          timeoutMs: 60_000,
        })
        return JSON.parse(Buffer.from(answer).toString()).state.messages === 0
      },
      DEADLINE_MS,
    )
  assert.ok(head.log.deadLetters(0).total > 100)
  assert.ok(verifyLog(head.log).ok)
  assert.is(({} as Record<string, unknown>).polluted, undefined)
  await until('no work is open', () => head.service.openWork() === 0, DEADLINE_MS)
  assert.is(
    await head.bus.request(subjects.log('head'), pack({}), { timeoutMs: 60_000 }).then(() => true),
    true,
  )
  await environment.stop()
  await subscription.stop()
  await head.close()
})

test.run()
