/** Rows of one log file, and its index of types, over a real file. */
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { EventType, NewEvent } from '../../src/events/catalogue.ts'
import { encodeEnvelope } from '../../src/events/codec.ts'
import { forkLog, openLog } from '../../src/events/log.ts'
import { openLogRows } from '../../src/events/log-rows.ts'
import { openTypeIndex } from '../../src/events/type-index.ts'
import { temporaryFolder } from '../support/run.ts'

const DENSE: EventType = 'RunPaused'
const SPARSE: EventType = 'RunFailed'
const ABSENT: EventType = 'RunCompleted'

/** Writes a log: position 100, 200, ... has the sparse type, every other one the dense type. */
function writeLog(folder: string, run: string, events: number): string {
  const path = join(folder, run, 'events.db')
  const log = openLog(path, { run, minFreeBytes: 0, synchronous: 'NORMAL' })
  const bodies = Array.from({ length: events }, (_, index) => {
    const { type, data } = {
      type: (index + 1) % 100 === 0 ? SPARSE : DENSE,
      data: { reason: String(index + 1) },
    } as NewEvent
    const id = `00000000-0000-7000-8000-${String(index + 1).padStart(12, '0')}`
    return encodeEnvelope({ id, type, v: 1, run, actor: 'test', time: 1, cause: null, data })
  })
  log.append(bodies.map((body) => log.check(body)))
  log.close()
  return path
}

function opened<Part>(path: string, open: (path: string, db: Database.Database) => Part): Part {
  return open(path, new Database(path, { readonly: true }))
}

const positionsOf = (rows: Iterable<readonly [number, Buffer]>) => [...rows].map(([position]) => position)

const types = suite('index of types')
const folder = temporaryFolder()
const path = writeLog(folder, 'a', 1_000)
const index = opened(path, (_, db) => openTypeIndex(db))

types('finds types that lie far apart by the index, up to the last position', () => {
  const { rows, last } = index.rowsOf([SPARSE], { from: 150, last: 950, limit: 3 })
  assert.equal(positionsOf(rows), [200, 300, 400])
  assert.is(last, 950)
})

types('reads types that lie close together row after row', () => {
  const { rows } = index.rowsOf([DENSE], { from: 99, last: 1_000, limit: 3 })
  assert.equal(positionsOf(rows), [99, 101, 102])
})

types('finds each event once if a type is named twice', () => {
  const { rows } = index.rowsOf([SPARSE, SPARSE], { from: 1, last: 1_000, limit: 2 })
  assert.equal(positionsOf(rows), [100, 200])
})

types('tells the newest event and the number of events up to a position', () => {
  assert.is(index.newest([SPARSE, ABSENT], 999), 900)
  assert.is(index.newest([SPARSE, DENSE], 1_000), 1_000)
  assert.is(index.newest([ABSENT], 1_000), null)
  assert.equal(
    [index.countOf(SPARSE, 999), index.countOf(DENSE, 100), index.countOf(ABSENT, 1_000)],
    [9, 99, 0],
  )
})

const rows = suite('rows')
const file = opened(path, openLogRows)
const whole = { from: 1, until: Infinity, limit: 1_000, maxBytes: Infinity }

rows('a page ends at its bytes, but holds one event at least', () => {
  const page = file.page({ ...whole, from: 7, maxBytes: 1 })
  assert.equal([page.events.map(({ position }) => position), page.next], [[7], 8])
})

rows('a page beyond the head is empty and stays where it is', () => {
  assert.equal(file.page({ ...whole, from: 1_001 }), { events: [], next: 1_001 })
})

rows('a block joins the bodies that a page has', () => {
  const block = file.block(3, 5)
  const { events } = file.page({ ...whole, from: 3, until: 5 })
  assert.equal(block?.bodies, Buffer.concat(events.map(({ body }) => body)))
  assert.equal(
    block?.lengths.map(Number),
    events.map(({ body }) => body.byteLength),
  )
})

rows('there is no block beyond the head', () => assert.is(file.block(1_001, 1_010), null))

rows('an event is found by its id, and its row has the hash of the chain', () => {
  const position = file.positionOf('id', '00000000-0000-7000-8000-000000000042')
  assert.is(position, 42)
  assert.is(file.row(42)?.hash.toString('hex'), file.hashAt(42))
  assert.equal([file.row(1_001), file.hashAt(1_001), file.positionOf('key', 'none')], [null, null, null])
})

rows('the file of a fork has no row of its parent', () => {
  const child = join(folder, 'b', 'events.db')
  forkLog(child, { run: 'b', parent: path, position: 10 })
  const own = opened(child, openLogRows)
  assert.equal([own.head(), own.row(10), own.block(1, 10)], [null, null, null])
  assert.equal(own.page({ ...whole, from: 11 }), { events: [], next: 11 })
})

types.run()
rows.run()
