/** An archived log gives what it gave before, wherever its archiving was cut off. */
import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { brotliCompressSync } from 'node:zlib'
import Database from 'better-sqlite3'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { runFolder } from '../../src/broker/connection.ts'
import { RlError } from '../../src/errors.ts'
import type { LoggedEvent } from '../../src/events/catalogue.ts'
import { compactLog } from '../../src/events/compact.ts'
import { digestOf } from '../../src/events/digest.ts'
import { openLog } from '../../src/events/log.ts'
import { type LogReader, openLogReader } from '../../src/events/log-reader.ts'
import { readSegment, segmentsFolder } from '../../src/events/segments.ts'
import { verifyLog } from '../../src/events/verify.ts'
import { forkRun } from '../../src/replay/fork.ts'
import { replay } from '../../src/replay/replay.ts'
import { smallConfig } from '../actors/loop.ts'
import { recordLoop } from '../replay/record.ts'
import { temporaryFolder } from '../support/run.ts'

const root = temporaryFolder()
const config = smallConfig({ run: { iterations: 60, evaluateEvery: 10 } })
recordLoop(root, 'whole', config).close()
const whole = runFolder('whole', root)

/** A copy of the run under its own name, in a folder of its own. */
function copy(): { readonly log: string; readonly root: string } {
  const folder = temporaryFolder()
  const run = runFolder('whole', folder)
  cpSync(whole.folder, run.folder, { recursive: true })
  return { log: run.log, root: folder }
}

function reading<T>(path: string, read: (log: LogReader) => T): T {
  const log = openLogReader(path)
  try {
    return read(log)
  } finally {
    log.close()
  }
}

/** All that readers can ask of a log. */
function told(path: string) {
  return reading(path, (log) => {
    const events = [...log.events()] as LoggedEvent[]
    return {
      verified: verifyLog(log),
      digest: digestOf(events),
      decisions: replay(log).decisions,
      events,
      some: [...log.events({ types: ['TaskProposed', 'PolicyUpdated'], from: 50 })],
      many: [...log.events({ types: ['StepScored'] })].length,
      byKey: log.byKey('PolicyUpdated/3'),
      byStream: log.byStream('iteration/2'),
      row: log.row(77),
      page: log.page({ from: 100, limit: 50, maxBytes: 4_000 }),
    }
  })
}

const before = told(whole.log)

/** What is told of a log that was cut off: each event is there, as it was. */
function inShort(path: string) {
  return reading(path, (log) => ({ verified: verifyLog(log), digest: digestOf([...log.events()]) }))
}

const { verified, digest } = before

test('an archived log gives the same events, digest and decisions, by every way of asking', () => {
  const { log } = copy()
  const result = compactLog(log)
  assert.ok(result.moved > 1_000, `${result.moved} events were moved`)
  assert.is(result.archived, result.moved)
  assert.ok(result.shrunk)
  assert.ok(result.logBytes.after < result.logBytes.before * 0.75, JSON.stringify(result))
  assert.equal(told(log), before)
  assert.is(compactLog(log).moved, 0, 'nothing is left to move')
  for (const name of readdirSync(segmentsFolder(log)))
    assert.is(statSync(join(segmentsFolder(log), name)).mode & 0o777, 0o600)
})

test('a compaction that is killed after any of its steps loses nothing, and the next one goes on', () => {
  for (let step = 1; ; step++) {
    const { log } = copy()
    const script = new URL('./compact-process.ts', import.meta.url).pathname
    const child = spawnSync(process.execPath, [script, log, String(step)], {
      encoding: 'utf8',
    })
    if (child.signal === null) {
      assert.is(child.status, 0, child.stderr)
      assert.ok(step > 4, `only ${step} steps`)
      break
    }
    assert.is(child.signal, 'SIGKILL')
    assert.equal(inShort(log), { verified, digest }, `killed after step ${step}`)
    compactLog(log)
    assert.equal(inShort(log), { verified, digest }, `killed after step ${step}, then compacted`)
    assert.is(readdirSync(segmentsFolder(log)).length, segmentsOf(log).length, 'no file is left over')
  }
})

function segmentsOf(path: string): { first: number; last: number; sha256: string }[] {
  const db = new Database(path, { readonly: true })
  try {
    return db.prepare('SELECT first, last, sha256 FROM segments').all() as never
  } finally {
    db.close()
  }
}

test('an archived log is appended to, forked, and still final', () => {
  const { log, root } = copy()
  compactLog(log)
  const writer = openLog(log, { run: 'whole', minFreeBytes: 0 })
  const again = writer.row(77)
  assert.ok(again)
  assert.equal(writer.append([writer.check(again.body)]), [{ position: 77, duplicate: true }])
  writer.close()
  const intruder = new Database(log)
  for (const statement of [
    "UPDATE events SET body = x'00' WHERE position = 77",
    "UPDATE events SET body = x'', type = 'Other' WHERE position = 77",
    'DELETE FROM events WHERE position = 77',
    'DELETE FROM segments',
    'UPDATE segments SET last = 1',
  ])
    assert.throws(() => intruder.exec(statement), /append-only/, statement)
  intruder.close()
  const child = runFolder('child', root)
  forkRun(runFolder('whole', root), child, { at: before.events[500].position, set: ['learning.lambda=0.5'] })
  reading(child.log, (fork) => {
    assert.ok(verifyLog(fork).ok)
    assert.equal([...fork.events({ until: 400 })], before.events.slice(0, 400))
  })
})

test('what is open, and what is damaged, is not archived', () => {
  const { log } = copy()
  const db = new Database(log)
  const started = reading(log, (reader) => reader.byKey('IterationStarted/20')?.position ?? 0)
  db.exec('DROP TRIGGER events_stay; DROP TRIGGER events_are_final')
  db.exec(`DELETE FROM events WHERE position > ${started + 5}`)
  const bad = started - 200
  const body = db.prepare('SELECT body FROM events WHERE position = ?').pluck().get(bad) as Buffer
  db.prepare('UPDATE events SET body = ? WHERE position = ?').run(Buffer.from([...body].reverse()), bad)
  db.close()
  assert.throws(
    () => compactLog(log),
    (error: { code: string }) => error.code === 'log.corrupt',
  )
  const mended = new Database(log)
  mended.exec('DROP TRIGGER events_are_final')
  mended.prepare('UPDATE events SET body = ? WHERE position = ?').run(body, bad)
  mended.close()
  const { archived } = compactLog(log)
  assert.is(archived, started - 1)
})

test('a segment that is missing or changed is told by name, and the rest can be read', () => {
  const { log } = copy()
  compactLog(log)
  const [row] = segmentsOf(log)
  const folder = segmentsFolder(log)
  const path = join(folder, `${row.sha256}.segment`)
  assert.is(readSegment(folder, row).bodies.length, row.last - row.first + 1)
  writeFileSync(path, brotliCompressSync(Buffer.from('other')))
  reading(log, (reader) => {
    const result = verifyLog(reader)
    assert.not(result.ok)
    if (!result.ok) assert.match(result.reason, /not what its name says/)
    assert.ok(reader.row(row.last + 1) || reader.head().position === row.last)
  })
  rmSync(path)
  reading(log, (reader) => {
    const result = verifyLog(reader)
    assert.is(result.ok ? 0 : result.position, row.first)
    if (!result.ok) assert.match(result.reason, /is missing/)
    assert.is(reader.positionOf('key', 'PolicyUpdated/3'), before.byKey?.position)
  })
  mkdirSync(path)
  assert.throws(
    () => readSegment(folder, row),
    (error: unknown) => error instanceof RlError && error.code === 'log.segment-corrupt',
  )
})

test.run()
