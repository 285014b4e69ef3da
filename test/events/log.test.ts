import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { uuidv7 } from 'uuidv7'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { RlError } from '../../src/errors.ts'
import { CATALOGUE, type NewEvent } from '../../src/events/catalogue.ts'
import { encodeEnvelope } from '../../src/events/codec.ts'
import { digestOf, openDigest } from '../../src/events/digest.ts'
import { type EventLog, forkLog, openLog } from '../../src/events/log.ts'
import { openLogReader } from '../../src/events/log-reader.ts'
import { pack } from '../../src/events/msgpack.ts'
import { verifyLog } from '../../src/events/verify.ts'
import { temporaryFolder } from '../support/run.ts'
import { policyUpdated, runStarted } from '../support/toy.ts'
import { readFixtures, sampleOf } from './samples.ts'

function body(run: string, { type, data }: NewEvent, id = uuidv7(), time = 1): Uint8Array {
  return encodeEnvelope({ id, type, v: CATALOGUE[type].v, run, actor: 'test', time, cause: null, data })
}

function append(log: EventLog, ...events: NewEvent[]) {
  return log.append(events.map((event) => log.check(body(log.run, event))))
}

const paused = (reason: string): NewEvent => ({ type: 'RunPaused', data: { reason } })

function codeOf(action: () => unknown): string {
  try {
    action()
  } catch (error) {
    if (error instanceof RlError) return error.code
    throw error
  }
  return 'nothing was thrown'
}

test('positions have no gaps; an id or a natural key is stored once and answered with its first position', () => {
  const log = openLog(join(temporaryFolder(), 'events.db'), { run: 'a', minFreeBytes: 0 })
  assert.equal(append(log, policyUpdated(1), policyUpdated(2)), [
    { position: 1, duplicate: false },
    { position: 2, duplicate: false },
  ])
  assert.equal(append(log, policyUpdated(2), policyUpdated(3)), [
    { position: 2, duplicate: true },
    { position: 3, duplicate: false },
  ])
  const id = uuidv7()
  const event = log.check(body('a', paused('x'), id))
  assert.equal(log.append([event, event]), [
    { position: 4, duplicate: false },
    { position: 4, duplicate: true },
  ])
  assert.is(log.byId(id)?.position, 4)
  assert.is(log.byKey('PolicyUpdated/3')?.position, 3)
  assert.is(log.byKey('PolicyUpdated/9'), null)
  assert.equal(
    [...log.events({ types: ['RunPaused'] })].map(({ position }) => position),
    [4],
  )
  assert.equal(
    [...log.events({ types: ['RunPaused', 'PolicyUpdated'], from: 2 })].map(({ position }) => position),
    [2, 3, 4],
  )
  assert.equal(
    log.byStream('iteration/2').map(({ position }) => position),
    [2],
  )
  assert.is(verifyLog(log).ok, true)
  log.close()
})

test('rows cannot be changed or deleted, and a second writer is refused while the first lives', () => {
  const path = join(temporaryFolder(), 'events.db')
  const log = openLog(path, { run: 'a', minFreeBytes: 0 })
  append(log, paused('x'))
  assert.is(
    codeOf(() => openLog(path, { run: 'a' })),
    'log.locked',
  )
  const intruder = new Database(path)
  assert.throws(() => intruder.exec('UPDATE events SET time = 0'), /append-only/)
  assert.throws(() => intruder.exec('DELETE FROM events'), /append-only/)
  intruder.close()
  log.close()
  assert.is(
    codeOf(() => openLog(path, { run: 'b' })),
    'log.other-run',
  )
  const again = openLog(path, { run: 'a', minFreeBytes: 0 })
  assert.equal(append(again, paused('y')), [{ position: 2, duplicate: false }])
  again.close()
})

function positionIn(path: string): number {
  if (!existsSync(path)) return 0
  const log = openLogReader(path)
  try {
    return log.head().position
  } finally {
    log.close()
  }
}

test('the lock of a killed writer is free at once, and what it appended is there', async () => {
  const path = join(temporaryFolder(), 'events.db')
  const source = `
    const { openLog } = await import('./src/events/log.ts')
    const { encodeEnvelope } = await import('./src/events/codec.ts')
    const { uuidv7 } = await import('uuidv7')
    const log = openLog(process.argv[1], { run: 'a', minFreeBytes: 0 })
    for (let n = 1; ; n++) {
      const data = { reason: String(n) }
      log.append([log.check(encodeEnvelope({ id: uuidv7(), type: 'RunPaused', v: 1, run: 'a', actor: 't', time: n, cause: null, data }))])
      if (n % 50 === 0) process.stdout.write(n + '\\n')
    }`
  for (let round = 0; round < 5; round++) {
    const before = positionIn(path)
    const child = spawn(process.execPath, ['--input-type=module', '-e', source, path], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    let told = 0
    child.stdout.on('data', (chunk: Buffer) => {
      told = Number(chunk.toString().trim().split('\n').at(-1))
      if (told >= 100 + 50 * round) child.kill('SIGKILL')
    })
    await once(child, 'close')
    const log = openLog(path, { run: 'a', minFreeBytes: 0 })
    assert.ok(log.head().position >= before + told)
    const verified = verifyLog(log)
    assert.is(verified.ok, true)
    log.close()
  }
})

for (const run of ['', 'a.b', 'a*', '>', 'a b', 'A', '../x', 'x'.repeat(33), '-a'])
  test(`the run id ${JSON.stringify(run)} is refused`, () => {
    const path = join(temporaryFolder(), 'events.db')
    assert.is(
      codeOf(() => openLog(path, { run })),
      'run.bad-id',
    )
    assert.not(existsSync(path))
  })

test('verify names the first bad position, whichever byte was changed', () => {
  const damage: readonly (readonly [string, number, RegExp])[] = [
    [
      "UPDATE events SET body = CAST(replace(CAST(body AS TEXT), 'reason-3', 'reason-9') AS BLOB) WHERE position = 3",
      3,
      /body/,
    ],
    ["UPDATE events SET key = 'stolen' WHERE position = 4", 4, /column key/],
    ['UPDATE events SET time = 5 WHERE position = 2', 2, /column time/],
    ['DELETE FROM events WHERE position = 3', 3, /missing/],
    ['DELETE FROM events WHERE position = 5', 5, /missing at the end/],
    ['UPDATE events SET hash = zeroblob(32) WHERE position = 1', 1, /chain/],
  ]
  for (const [statement, position, reason] of damage) {
    const path = join(temporaryFolder(), 'events.db')
    const log = openLog(path, { run: 'a', minFreeBytes: 0 })
    append(log, ...[1, 2, 3, 4, 5].map((n) => paused(`reason-${n}`)))
    log.setMeta('published', '5')
    log.close()
    const db = new Database(path)
    db.exec(`DROP TRIGGER events_are_final; DROP TRIGGER events_stay; ${statement}`)
    db.close()
    const reader = openLogReader(path)
    const verified = verifyLog(reader)
    reader.close()
    assert.not(verified.ok, statement)
    if (!verified.ok) {
      assert.is(verified.position, position, statement)
      assert.match(verified.reason, reason)
    }
  }
})

test('a log whose keys hold half a character is whole all the same', () => {
  const log = openLog(join(temporaryFolder(), 'events.db'), { run: 'a', minFreeBytes: 0 })
  const rollout = '1/slot\ud83d/0'
  const failed: NewEvent = {
    type: 'RolloutFailed',
    data: {
      ...{ rollout, iteration: 1, purpose: 'train', slot: 'slot', task: 't', cause: 'infra' },
      ...{ error: 'none', attempts: 1 },
    },
  }
  append(log, failed)
  assert.is(log.positionOf('key', `Rollout/${rollout}`), 1)
  assert.equal(verifyLog(log), { ok: true, events: 1, hash: log.head().hash })
  log.close()
})

test('a file that is no log is called so', () => {
  const path = join(temporaryFolder(), 'events.db')
  const db = new Database(path)
  db.exec('CREATE TABLE x (y)')
  db.close()
  assert.is(
    codeOf(() => openLogReader(path)),
    'log.not-a-log',
  )
  assert.is(
    codeOf(() => openLogReader(join(path, 'none'))),
    'log.missing',
  )
})

test('nothing is appended when the disk is nearly full, but for what is urgent', () => {
  let free = 1_000_000
  const log = openLog(join(temporaryFolder(), 'events.db'), {
    run: 'a',
    minFreeBytes: 2_000,
    freeBytes: () => free,
  })
  append(log, paused('before'))
  free = 1_000
  const big = log.check(body('a', paused('x'.repeat(200_000))))
  assert.is(
    codeOf(() => {
      for (let n = 0; n < 100; n++) log.append([big, { ...big, envelope: { ...big.envelope, id: uuidv7() } }])
    }),
    'log.disk-full',
  )
  const { position } = log.head()
  assert.equal(log.append([log.check(body('a', paused('full')))], { urgent: true }), [
    { position: position + 1, duplicate: false },
  ])
  log.close()
})

test('a fork shares its parent up to a position, adds its own, and never repeats what it inherited', () => {
  const root = temporaryFolder()
  const [parentPath, path, grandPath] = ['a', 'b', 'c'].map((run) => join(root, run, 'events.db'))
  const parent = openLog(parentPath, { run: 'a', minFreeBytes: 0 })
  append(parent, runStarted, policyUpdated(1), policyUpdated(2), policyUpdated(3))
  forkLog(path, { run: 'b', parent: parentPath, position: 2 })
  assert.ok(statSync(path).size < 100_000)
  assert.is(
    codeOf(() => forkLog(path, { run: 'b', parent: parentPath, position: 2 })),
    'log.exists',
  )
  assert.is(
    codeOf(() => forkLog(`${path}x`, { run: 'x', parent: parentPath, position: 9 })),
    'log.no-position',
  )
  const fork = openLog(path, { run: 'b', minFreeBytes: 0 })
  assert.is(fork.head().position, 2)
  assert.equal(append(fork, policyUpdated(1), policyUpdated(2)), [
    { position: 2, duplicate: true },
    { position: 3, duplicate: false },
  ])
  assert.equal(
    [...fork.events()].map(({ position, run }) => [position, run]),
    [
      [1, 'a'],
      [2, 'a'],
      [3, 'b'],
    ],
  )
  assert.is(fork.byKey('PolicyUpdated/3'), null)
  assert.is(verifyLog(fork).ok, true)
  forkLog(grandPath, { run: 'c', parent: path, position: 1 })
  const grandchild = openLog(grandPath, { run: 'c', minFreeBytes: 0 })
  append(grandchild, policyUpdated(7))
  assert.equal(
    [...grandchild.events()].map(({ position, run }) => [position, run]),
    [
      [1, 'a'],
      [2, 'c'],
    ],
  )
  assert.equal(verifyLog(grandchild), { ok: true, events: 2, hash: grandchild.head().hash })
  assert.is(parent.head().position, 4)
  for (const log of [grandchild, fork, parent]) log.close()
})

test('large data rests in a blob and comes back whole; a damaged blob is found', () => {
  const log = openLog(join(temporaryFolder(), 'events.db'), { run: 'a', minFreeBytes: 0 })
  const event = paused('x'.repeat(300_000))
  const $blob = log.blobs.put(pack(event.data))
  const checked = log.check(body('a', { ...event, data: { $blob } } as unknown as NewEvent))
  log.append([checked])
  assert.is(log.row(1)?.body.byteLength, checked.body.byteLength)
  assert.ok(checked.body.byteLength < 400)
  const [read] = [...log.events()]
  assert.equal(read.data, event.data)
  assert.is(
    codeOf(() => log.blobs.get({ sha256: '0'.repeat(64), bytes: 1 })),
    'blob.missing',
  )
  log.close()
})

test('the digest is that of what happened: not of when, in which order, or how fast', () => {
  const events = readFixtures().map(sampleOf)
  const shuffled = [...events]
    .reverse()
    .map((event) =>
      'timing' in event.data
        ? ({ ...event, data: { ...event.data, timing: { seconds: 99 } } } as NewEvent)
        : event,
    )
  assert.is(digestOf(shuffled), digestOf(events))
  const digest = openDigest()
  for (const event of events) digest.add(event)
  const counted = events.filter(({ type }) => CATALOGUE[type].reproducible)
  assert.is(digest.count(), counted.length)
  const iterations = counted.flatMap(({ data }) => ('iteration' in data ? [data.iteration ?? 0] : []))
  assert.equal(
    [...digest.byIteration().keys()],
    [...new Set(iterations)].sort((a, b) => a - b),
  )
  const copy = digest.copy()
  copy.add(policyUpdated(5))
  assert.is(digest.value(), digestOf(events))
  assert.is(copy.value(), digestOf([...events, policyUpdated(5)]))
  assert.not.equal(digestOf([...events, policyUpdated(5)]), digestOf(events))
  assert.is(digestOf([...events, paused('not reproducible')]), digestOf(events))
})

test.run()
