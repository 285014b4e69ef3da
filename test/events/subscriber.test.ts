/**
 * An external subscriber (scripts/subscriber.ts, a process of its own) is killed again and again while events come in, and so
 * is NATS: nothing is lost and nothing is applied twice. RL_TEST_SUBSCRIBER_KILLS=200 RL_TEST_NATS_KILLS=20 is the long form.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { environmentOf } from '../../src/broker/connection.ts'
import { RlError } from '../../src/errors.ts'
import type { NewEvent } from '../../src/events/catalogue.ts'
import { rng, seedOf } from '../../src/random.ts'
import { startTestHead, type TestHead, temporaryFolder, until } from '../support/run.ts'
import { policyUpdated } from '../support/toy.ts'

const KILLS = Number(process.env.RL_TEST_SUBSCRIBER_KILLS ?? 8)
const NATS_KILLS = Number(process.env.RL_TEST_NATS_KILLS ?? 2)
/** Events that come in between two kills, at most. */
const EVENTS = 4_000

const file = join(temporaryFolder(), 'counts.db')
let head: TestHead
let subscriber: ChildProcess | null = null
process.once('exit', () => subscriber?.kill('SIGKILL'))
test.before(async () => {
  head = await startTestHead()
})
test.after(() => head.close())

function start(): void {
  const child = spawn(process.execPath, ['scripts/subscriber.ts', head.address.url, 'test', file], {
    stdio: ['ignore', 'inherit', 'inherit'],
    env: { ...process.env, ...environmentOf(head.addressOf('tool')) },
  })
  subscriber = child
  // One that is started while NATS is away ends with an error: who runs it starts it again.
  child.once('exit', (code) => {
    if (code !== null && subscriber === child) start()
  })
}

async function killSubscriber(): Promise<void> {
  const child = subscriber
  if (!child) return
  subscriber = null
  const gone = new Promise((resolve) => child.once('exit', resolve))
  child.kill('SIGKILL')
  await gone
}

function natsPid(): number {
  const path = join(head.folder.broker, 'nats.pid')
  return existsSync(path) ? Number(readFileSync(path, 'utf8')) : 0
}

/** The head starts it again on the same port. */
async function killNats(): Promise<void> {
  const pid = natsPid()
  process.kill(pid, 'SIGKILL')
  await until('another broker', () => natsPid() !== pid && natsPid() !== 0)
}

let reader: Database.Database | null = null

function storedPosition(): number {
  try {
    reader ??= new Database(file, { readonly: true, fileMustExist: true })
    return Number(reader.prepare('SELECT position FROM stored').pluck().get() ?? 0)
  } catch {
    reader?.close()
    reader = null
    return 0
  }
}

const paused: NewEvent = { type: 'RunPaused', data: { reason: 'subscriber test' } }
let version = 0

function append(count: number): void {
  const events = Array.from({ length: count }, (_, n) => (n % 3 === 0 ? policyUpdated(++version) : paused))
  try {
    head.service.append(events)
  } catch (error) {
    if (!(error instanceof RlError)) throw error
    throw new Error(`append: ${error.message}`)
  }
}

test(`a subscriber that is killed ${KILLS} times, and NATS ${NATS_KILLS} times, applies every event exactly once`, async () => {
  const draw = rng(seedOf(6, 'subscriber'))
  const natsAt = new Set(
    Array.from({ length: NATS_KILLS }, (_, i) => Math.floor((i + 0.5) * (KILLS / NATS_KILLS))),
  )
  let natsKilled = 0
  for (let kill = 0; kill < KILLS; kill++) {
    const before = storedPosition()
    start()
    for (let part = 0; part < 4; part++) append(1 + draw.below(EVENTS / 4))
    if (natsAt.has(kill)) {
      await killNats()
      natsKilled++
      append(1 + draw.below(EVENTS / 4))
    }
    // Anywhere from its start to the last event, in the middle of a batch or of a transaction.
    const target = before + draw.below(head.log.head().position - before + 1)
    await until(`${target} of ${head.log.head().position} applied`, () => storedPosition() >= target, 120_000)
    await killSubscriber()
  }
  assert.is(natsKilled, NATS_KILLS)
  start()
  const { position } = head.log.head()
  await until('all applied', () => storedPosition() === position, 120_000)
  await killSubscriber()
  reader?.close()

  const db = new Database(file, { readonly: true })
  const counts = db.prepare('SELECT type, n, positions FROM counts ORDER BY type').all()
  db.close()
  const expected = new Map<string, { type: string; n: number; positions: number }>()
  for (const { type, position } of head.log.events()) {
    const row = expected.get(type) ?? { type, n: 0, positions: 0 }
    expected.set(type, { type, n: row.n + 1, positions: row.positions + position })
  }
  assert.equal(
    counts,
    [...expected.values()].sort((a, b) => (a.type < b.type ? -1 : 1)),
  )
})

test.run()
