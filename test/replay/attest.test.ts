import { copyFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { RlError } from '../../src/errors.ts'
import { openLogReader } from '../../src/events/log-reader.ts'
import { type Attestation, attest, confirm, confirmAlone, readAttestation } from '../../src/replay/attest.ts'
import { temporaryFolder } from '../support/run.ts'
import { unpackFixture } from './fixture.ts'

function confirmed(given: Attestation, path: string) {
  const log = openLogReader(path)
  try {
    return confirm(given, log)
  } finally {
    log.close()
  }
}

test('an attestation is confirmed by its log, also as a file elsewhere', () => {
  const root = temporaryFolder()
  const { log: path } = unpackFixture(root)
  const log = openLogReader(path)
  const given = attest(log)
  log.close()
  assert.ok(given.completed)
  assert.is(given.models.length, 6)
  assert.ok(given.evaluations.every(({ n, low, high }) => n === 1 && low < high))
  const file = join(root, 'attested.json')
  writeFileSync(file, JSON.stringify(given))
  const elsewhere = join(root, 'elsewhere.db')
  copyFileSync(path, elsewhere)
  assert.ok(confirmed(readAttestation(file), elsewhere).ok)
  writeFileSync(file, '{}')
  assert.throws(
    () => readAttestation(file),
    (error: unknown) => error instanceof RlError && error.code === 'attest.not-one',
  )
})

test('a file whose keys came into another order is confirmed as before', () => {
  const root = temporaryFolder()
  const { log: path } = unpackFixture(root)
  const log = openLogReader(path)
  const given = reversed(attest(log)) as Attestation
  log.close()
  assert.ok(confirmAlone(given).ok)
  assert.ok(confirmed(given, path).ok)
})

function reversed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(reversed)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .reverse()
      .map(([key, inner]) => [key, reversed(inner)]),
  )
}

test('one flipped byte of any event is found at that event, a changed figure by its name, another log as such', () => {
  const root = temporaryFolder()
  const { log: path } = unpackFixture(root)
  const log = openLogReader(path)
  const given = attest(log)
  const { position } = log.head()
  log.close()
  for (const at of [1, 77, 200, position]) {
    const bad = join(root, `bad-${at}.db`)
    copyFileSync(path, bad)
    const db = new Database(bad)
    db.exec('DROP TRIGGER events_are_final')
    const body = db.prepare('SELECT body FROM events WHERE position = ?').pluck().get(at) as Buffer
    body[body.length >> 1] ^= 1
    db.prepare('UPDATE events SET body = ? WHERE position = ?').run(body, at)
    db.close()
    const { ok, lines } = confirmed(given, bad)
    assert.is(ok, false)
    assert.match(lines[0], new RegExp(`^position ${at} is bad`))
  }
  const [first, ...rest] = given.evaluations
  const better = { ...given, evaluations: [{ ...first, value: 1 - first.value }, ...rest] }
  assert.equal(confirmed(better, path).lines, ["'evaluations' is not what the log holds"])
  assert.ok(confirmAlone(given).ok)
  assert.not.ok(confirmAlone({ ...given, config: { ...given.config, backend: 'cpu' } }).ok)
  assert.match(confirmed({ ...given, chain: '0'.repeat(64) }, path).lines[0], /another log/)
})

test.run()
