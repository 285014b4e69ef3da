/**
 * Throughput of the log, of the bus and of both together, end to end and durable, and the time until a run is
 * back.
 *
 * npm run -s bench -- events [--only append,latency,heap,catch-up,limits,folds,restart] [--restart 1000000,5000000]
 */
import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { closeSync, fdatasyncSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable, Writable } from 'node:stream'
import { parseArgs } from 'node:util'
import Database from 'better-sqlite3'
import { uuidv7 } from 'uuidv7'
import { startHeadCore } from '../../src/actors/head/head-core.ts'
import { environmentOf, runFolder } from '../../src/broker/connection.ts'
import { connectLog } from '../../src/events/log-client.ts'
import { connectBus } from '../../src/events/nats/connect.ts'
import { subscribe } from '../../src/events/subscription.ts'
import { benchFolds } from './events/folds.ts'
import { dataBytes, makeEvent, type Size } from './events/load.ts'
import { requestHeap } from './events/request-heap.ts'
import { benchRestart } from './events/restart.ts'
import { median, percentile, report } from './report.ts'

const PARTS = 'append,latency,heap,catch-up,limits,folds,restart'
const { values: flags } = parseArgs({
  args: process.argv.slice(3),
  options: {
    only: { type: 'string', default: PARTS },
    restart: { type: 'string', default: '1000000,5000000' },
  },
})
const wanted = new Set(flags.only.split(',').map((part) => part.trim()))
const stranger = [...wanted].find((part) => !PARTS.split(',').includes(part))
if (stranger !== undefined) {
  process.stderr.write(`there is no part '${stranger}' of this suite: they are ${PARTS}\n`)
  process.exit(2)
}

const SENDERS = 4
const ROUNDS = 3

type Sender = {
  /** Sends all its events. Start and end are by the machine's clock (ms since 1970). */
  readonly go: (round: number) => Promise<{ start: number; end: number }>
  readonly end: () => void
}

const root = mkdtempSync(join(tmpdir(), 'rl-bench-'))
const core = await startHeadCore({ folder: runFolder('bench', root), work: [] })
try {
  if (wanted.has('append')) {
    diskSync()
    await appendRate('200b', 20_000, 50_000)
    await appendRate('4kb', 5_000, 12_000)
  }
  if (wanted.has('latency')) await latency()
  if (wanted.has('catch-up')) await catchUp()
  if (wanted.has('heap')) await requestHeap(core)
  if (wanted.has('limits')) {
    sqliteLimit()
    await natsLimit()
  }
} finally {
  await core.close()
  rmSync(root, { recursive: true, force: true })
}
if (wanted.has('folds')) benchFolds()
if (wanted.has('restart'))
  for (const [index, events] of flags.restart.split(',').entries()) await benchRestart(Number(events), index)

/** What a commit waits for at least: 64 KiB at the end of a file of the log's disk, until they are on it. */
function diskSync(): void {
  const file = openSync(join(root, 'sync'), 'w')
  const block = Buffer.alloc(1 << 16)
  const times = Array.from({ length: 500 }, () => {
    const start = performance.now()
    writeSync(file, block)
    fdatasyncSync(file)
    return performance.now() - start
  })
  closeSync(file)
  const row = {
    suite: 'events',
    unit: 'ms',
    goal: null,
    n: times.length,
    note: 'write of 64 KiB and fdatasync',
  }
  report({ ...row, name: 'sync_p50_ms', value: percentile(times, 0.5) })
  report({ ...row, name: 'sync_p99_ms', value: percentile(times, 0.99) })
}

/** `count` events from each of 4 processes, each append answered when it is on disk. */
async function appendRate(size: Size, count: number, goal: number): Promise<void> {
  const senders = await Promise.all(
    Array.from({ length: SENDERS }, (_, n) => startSender(`s${n}`, size, count)),
  )
  const rates: number[] = []
  for (let round = 0; round <= ROUNDS; round++) {
    const before = core.log.head().position
    const spans = await Promise.all(senders.map((sender) => sender.go(round)))
    const appended = core.log.head().position - before
    if (appended !== SENDERS * count)
      throw new Error(`${appended} of ${SENDERS * count} events are in the log`)
    const ms = Math.max(...spans.map(({ end }) => end)) - Math.min(...spans.map(({ start }) => start))
    if (round > 0) rates.push((appended / ms) * 1000)
  }
  for (const sender of senders) sender.end()
  const bytes = dataBytes(makeEvent(size, 's0', 1))
  report({
    suite: 'events',
    name: `append_${size}_per_s`,
    value: median(rates),
    unit: 'events/s',
    goal: `>= ${goal}`,
    n: ROUNDS,
    note: `${SENDERS} actor processes, ${bytes} B of data, validated, hash-chained, WAL with synchronous=FULL, published`,
  })
}

async function startSender(name: string, size: Size, count: number): Promise<Sender> {
  const { url } = core.address
  const child: ChildProcessByStdio<Writable, Readable, null> = spawn(
    process.execPath,
    ['scripts/bench/events/sender.ts', url, name, size, String(count)],
    { stdio: ['pipe', 'pipe', 'inherit'], env: { ...process.env, ...environmentOf(core.address) } },
  )
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  await lines.next()
  return {
    async go(round) {
      child.stdin.write(`go ${round}\n`)
      return JSON.parse((await lines.next()).value)
    },
    end: () => child.stdin.end(),
  }
}

/** Measures from the call of append to the live event at a subscriber, at 1,000 events/s. */
async function latency(): Promise<void> {
  const bus = await connectBus(core.address)
  const log = connectLog({ bus, run: 'bench', actor: 'policy/latency' })
  const sentAt = new Map<string, number>()
  const delays: number[] = []
  const subscription = await subscribe(
    { bus, run: 'bench', from: core.log.head().position + 1, types: ['StepScored'] },
    ({ data }) => {
      const sent = sentAt.get(data.rollout)
      if (sent !== undefined) delays.push(performance.now() - sent)
    },
  )
  const total = 5_000
  const start = performance.now()
  for (let n = 0; n < total; ) {
    while (n < total && performance.now() - start >= n) {
      const event = makeEvent('200b', 'latency', n++)
      if (event.type === 'StepScored') sentAt.set(event.data.rollout, performance.now())
      void log.append([event])
    }
    await new Promise((resolve) => setTimeout(resolve, 1))
  }
  while (delays.length < total) await new Promise((resolve) => setTimeout(resolve, 10))
  await subscription.stop()
  log.close()
  await bus.close()
  const note = 'append to live delivery at a subscriber, 1,000 events/s paced'
  report({
    suite: 'events',
    name: 'latency_p50_ms',
    value: percentile(delays, 0.5),
    unit: 'ms',
    goal: null,
    n: total,
    note,
  })
  report({
    suite: 'events',
    name: 'latency_p99_ms',
    value: percentile(delays, 0.99),
    unit: 'ms',
    goal: '< 10',
    n: total,
    note,
  })
}

/**
 * Measures from the start of an external subscriber's process until it has stored the position of the last of
 * 100,000 events.
 */
async function catchUp(): Promise<void> {
  const total = 100_000
  const from = core.log.head().position
  for (let n = 0; n < total; n += 2_000)
    core.service.append(Array.from({ length: 2_000 }, (_, i) => makeEvent('200b', 'catch-up', n + i)))
  const file = join(root, 'counts.db')
  const { url } = core.address
  writeStored(file, from)
  const start = performance.now()
  const child = spawn(process.execPath, ['scripts/subscriber.ts', url, 'bench', file], {
    stdio: ['ignore', 'inherit', 'inherit'],
    env: { ...process.env, ...environmentOf(core.address) },
  })
  const db = new Database(file, { readonly: true })
  const stored = db.prepare('SELECT position FROM stored').pluck()
  while (Number(stored.get()) < from + total) await new Promise((resolve) => setTimeout(resolve, 5))
  const seconds = (performance.now() - start) / 1000
  db.close()
  child.kill('SIGKILL')
  report({
    suite: 'events',
    name: 'catch_up_100k_s',
    value: seconds,
    unit: 's',
    goal: '< 10',
    n: 1,
    note: 'scripts/subscriber.ts, a process of its own: start, 100,000 events of 200 B read over NATS, counted in SQLite',
  })
}

/** Stores a position, as if the subscriber had read that far. It then catches up the rest alone. */
function writeStored(file: string, position: number): void {
  const db = new Database(file)
  db.pragma('journal_mode = WAL')
  db.exec('CREATE TABLE stored (one INTEGER PRIMARY KEY CHECK (one = 1), position INTEGER NOT NULL)')
  db.prepare('INSERT INTO stored VALUES (1, ?)').run(position)
  db.close()
}

/**
 * Bare inserts of the same rows into the same kind of file, 1,000 a transaction: no check, no hash chain, no
 * bus.
 */
function sqliteLimit(): void {
  const db = new Database(join(root, 'limit.db'))
  db.pragma('journal_mode = WAL')
  db.pragma('synchronous = FULL')
  db.exec('CREATE TABLE events (position INTEGER PRIMARY KEY, id TEXT UNIQUE, key TEXT UNIQUE, body BLOB)')
  const insert = db.prepare('INSERT INTO events VALUES (?, ?, ?, ?)')
  const body = Buffer.alloc(330)
  const rates: number[] = []
  let position = 0
  const insertBatch = db.transaction((ids: readonly string[]) => {
    for (const id of ids) insert.run(++position, id, `key/${id}`, body)
  })
  for (let round = 0; round < ROUNDS; round++) {
    const ids = Array.from({ length: 100_000 }, () => uuidv7())
    const start = performance.now()
    for (let at = 0; at < ids.length; at += 1_000) insertBatch(ids.slice(at, at + 1_000))
    rates.push((ids.length / (performance.now() - start)) * 1000)
  }
  db.close()
  report({
    suite: 'events',
    name: 'sqlite_limit_per_s',
    value: median(rates),
    unit: 'rows/s',
    goal: null,
    n: ROUNDS,
    note: 'bare inserts of 330 B, 1,000 a transaction, two unique indexes',
  })
}

/** Bare messages of the same size from one connection to another, without a log. */
async function natsLimit(): Promise<void> {
  const [sender, receiver] = [await connectBus(core.address), await connectBus(core.address)]
  const total = 100_000
  const body = new Uint8Array(330)
  const rates: number[] = []
  for (let round = 0; round < ROUNDS; round++) {
    let received = 0
    let finish: () => void = () => {}
    const all = new Promise<void>((resolve) => {
      finish = resolve
    })
    const leave = receiver.subscribe('rl.v1.bench.tap.limit', () => {
      if (++received === total) finish()
    })
    await receiver.flush()
    const start = performance.now()
    for (let n = 0; n < total; n++) {
      sender.publish('rl.v1.bench.tap.limit', body)
      if (n % 1_000 === 999) await sender.flush()
    }
    await all
    rates.push((total / (performance.now() - start)) * 1000)
    leave()
  }
  await sender.close()
  await receiver.close()
  report({
    suite: 'events',
    name: 'nats_limit_per_s',
    value: median(rates),
    unit: 'messages/s',
    goal: null,
    n: ROUNDS,
    note: 'bare core messages of 330 B between two connections of one process',
  })
}
