/** Parts of the log's service, each over a real log in a file. */
import { join } from 'node:path'
import { decode as unpack } from '@msgpack/msgpack'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { openDiskPause } from '../../../src/actors/head/disk-pause.ts'
import { logAnswers } from '../../../src/actors/head/log-answers.ts'
import { openPublishedCursor } from '../../../src/actors/head/published-cursor.ts'
import { openRollbackCheck } from '../../../src/actors/head/rollback.ts'
import { systemClock } from '../../../src/clock.ts'
import { RlError } from '../../../src/errors.ts'
import type { NewEvent } from '../../../src/events/catalogue.ts'
import { encodeEnvelope } from '../../../src/events/codec.ts'
import { type EventLog, openLog } from '../../../src/events/log.ts'
import { pack } from '../../../src/events/msgpack.ts'
import { temporaryFolder } from '../../support/run.ts'

const idOf = (n: number) => `00000000-0000-7000-8000-${String(n).padStart(12, '0')}`

function checkedEvent(log: EventLog, n: number, cause: string | null = null) {
  const envelope = { id: idOf(n), type: 'RunPaused' as const, v: 1, run: 'a', actor: 'head', time: 1, cause }
  return log.check(encodeEnvelope({ ...envelope, data: { reason: String(n) } }))
}

/** Opens a log with the events 1 to `events`. */
function openTestLog(events: number): EventLog {
  const log = openLog(join(temporaryFolder(), 'events.db'), { run: 'a', minFreeBytes: 0 })
  for (let n = 1; n <= events; n++) log.append([checkedEvent(log, n)])
  return log
}

function codeOf(call: () => unknown): string {
  try {
    call()
  } catch (error) {
    if (error instanceof RlError) return error.code
    throw error
  }
  return 'nothing was thrown'
}

const rollback = suite('check for a log that was rolled back')

rollback('an event is refused if its cause is not in the log', () => {
  const log = openTestLog(2)
  const { refusal } = openRollbackCheck(log, 1)
  assert.equal([refusal(checkedEvent(log, 3)), refusal(checkedEvent(log, 3, idOf(2)))], [null, null])
  assert.is(refusal(checkedEvent(log, 3, idOf(9)))?.code, 'log.rolled-back')
})

rollback('a reader is refused if it knows a later position, another hash, or events of another head', () => {
  const log = openTestLog(2)
  const { checkSeen } = openRollbackCheck(log, 5)
  log.append([checkedEvent(log, 3)])
  const hash = log.hashAt(2)
  checkSeen(3, { position: 2, hash })
  checkSeen(2, undefined, 4)
  for (const known of [
    () => checkSeen(4, undefined),
    () => checkSeen(3, { position: 3, hash }),
    // An older head cannot have written position 3: this head did.
    () => checkSeen(3, undefined, 4),
  ])
    assert.is(codeOf(known), 'log.rolled-back')
})

const pausing = suite('pause of a full disk')

pausing('a run that is paused twice is paused once, and goes on once', () => {
  const told: string[] = []
  const disk = openDiskPause((events) => told.push(...events.map(({ type }) => type)), systemClock)
  disk.resume()
  assert.is(disk.since(), null)
  disk.pause(new RlError('full', { code: 'log.disk-full' }))
  disk.pause(new RlError('still full', { code: 'log.disk-full' }))
  assert.type(disk.since(), 'number')
  disk.resume()
  assert.is(disk.since(), null)
  assert.equal(told, ['RunPaused', 'RunResumed'])
})

pausing('if the disk takes not even the pause, the pause is told before the run goes on', () => {
  let isFull = true
  const told: (readonly NewEvent[])[] = []
  const disk = openDiskPause((events) => {
    if (isFull) throw new RlError('full', { code: 'log.disk-full' })
    told.push(events)
  }, systemClock)
  disk.pause(new RlError('full', { code: 'log.disk-full' }))
  disk.resume()
  assert.type(disk.since(), 'number')
  isFull = false
  disk.resume()
  assert.equal(
    told.map((events) => events.map(({ type }) => type)),
    [['RunPaused', 'RunResumed']],
  )
})

const cursor = suite('cursor of what is published')

cursor('is stored with the next append, and not again until it moves', () => {
  const log = openTestLog(1)
  let confirmed = 0
  const { storeWith, keep } = openPublishedCursor(log, { confirmed: () => confirmed, oldestOpen: () => 1 })
  const append = (n: number) =>
    storeWith((meta) => {
      log.append([checkedEvent(log, n)], { meta })
      return meta
    })
  assert.is(append(2), undefined)
  confirmed = 2
  assert.equal(append(3), { published: '2', oldest_open_work: '1' })
  assert.is(append(4), undefined)
  confirmed = 4
  keep()
  assert.is(log.meta('published'), '4')
  assert.is(append(5), undefined)
})

const answering = suite('answers of a log')

answering('a page, positions by key, and the head', () => {
  const log = openTestLog(3)
  const since = () => 7
  const { read, has, head } = logAnswers(
    log,
    () => log.head().position,
    openRollbackCheck(log, 1).checkSeen,
    since,
  )
  const page = unpack(read(pack({ from: 2, limit: 1 }))) as { readonly events: readonly [number][] }
  assert.is(page.events[0][0], 2)
  assert.equal({ ...page, events: 1 }, { events: 1, next: 3, hash: log.hashAt(2), head: 3 })
  assert.equal(unpack(has(pack({ keys: ['none'] }))), [null])
  assert.equal(unpack(head()), { ...log.head(), deadLetters: 0, pausedSince: 7 })
  assert.is(
    codeOf(() => read(pack({ from: 5, limit: 1 }))),
    'log.rolled-back',
  )
})

for (const { run } of [rollback, pausing, cursor, answering]) run()
