/** A run whose log a cluster keeps, and the standby that goes on with it. The brokers are real. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { takeFence } from '../../src/actors/head/fence.ts'
import { openReplica, recordsOf } from '../../src/actors/head/replica.ts'
import { livingStandby, type StandbyEnd, standBy } from '../../src/actors/head/standby.ts'
import { type RunFolder, runFolder } from '../../src/broker/connection.ts'
import type { RlError } from '../../src/errors.ts'
import type { NewEvent } from '../../src/events/catalogue.ts'
import { type EventLog, openLog } from '../../src/events/log.ts'
import { connectLog } from '../../src/events/log-client.ts'
import { openLogReader } from '../../src/events/log-reader.ts'
import { connectBus } from '../../src/events/nats/connect.ts'
import { verifyLog } from '../../src/events/verify.ts'
import { systemPlatform } from '../../src/platform/platform.ts'
import { startCluster } from '../support/cluster.ts'
import { startTestHead, type TestHead, temporaryFolder, until } from '../support/run.ts'
import { runStarted } from '../support/toy.ts'

const cluster = await startCluster()
test.after(cluster.close)

const FENCE = { leaseMs: 1_500, renewMs: 300 }
const REPLICAS = 3
const pause: NewEvent = { type: 'RunPaused', data: { reason: 'a test' } }
const resume: NewEvent = { type: 'RunResumed', data: { reason: 'a test' } }

let count = 0
const newRun = () => `standby-${++count}`

function startReplicated(run: string, more: Parameters<typeof startTestHead>[0] = {}): Promise<TestHead> {
  return startTestHead({ run, nats: cluster.address, replicas: REPLICAS, fenceTimes: FENCE, ...more })
}

type Standing = {
  readonly folder: RunFolder
  readonly end: Promise<StandbyEnd>
  readonly said: readonly string[]
  /** Positions of the copy at which the standby made itself ready to be the head. */
  readonly prepared: readonly number[]
  readonly stop: () => Promise<void>
}

async function startStandby(run: string, root = temporaryFolder()): Promise<Standing> {
  const bus = await connectBus({ ...cluster.address, replicas: REPLICAS })
  const stopped = new AbortController()
  const folder = runFolder(run, root)
  const said: string[] = []
  const say = (line: string) => void said.push(line)
  const prepared: number[] = []
  const prepare = async (log: EventLog) => void prepared.push(log.head().position)
  const end = standBy({ bus, folder, signal: stopped.signal, say, leaseMs: FENCE.leaseMs, prepare })
  end.catch(() => {})
  return {
    folder,
    end,
    said,
    prepared,
    async stop() {
      stopped.abort(new Error('the test is over'))
      await end.catch(() => {})
      await bus.close()
    },
  }
}

function headOf({ log }: RunFolder) {
  const reader = openLogReader(log)
  try {
    return reader.head()
  } finally {
    reader.close()
  }
}

const positionOf = (folder: RunFolder) => (existsSync(folder.log) ? headOf(folder).position : 0)

test('a standby has each acknowledged event and blob, with the hashes of the head', async () => {
  const run = newRun()
  const head = await startReplicated(run)
  head.service.append([runStarted])
  const log = connectLog({ bus: head.bus, run, actor: 'head' })
  const blob = await log.putBlob(Buffer.alloc(1_300_000, 7))
  await log.append([pause, resume])
  const standby = await startStandby(run)
  await until('the copy is whole', () => positionOf(standby.folder) === 3)
  await log.append([pause])
  await until('the copy follows', () => positionOf(standby.folder) === 4)
  assert.equal(headOf(standby.folder), head.log.head())
  assert.equal(standby.prepared, [3])
  const copy = openLogReader(standby.folder.log)
  assert.equal(copy.blobs.get(blob), Buffer.alloc(1_300_000, 7))
  assert.ok(verifyLog(copy).ok)
  copy.close()
  assert.is((await livingStandby(head.bus, run, systemPlatform.hostname))?.position, 4)
  assert.is(await livingStandby(head.bus, run, 'elsewhere'), null)
  log.close()
  await standby.stop()
  await head.close()
})

test('a head that ends for a standby gives it the run at once', async () => {
  const run = newRun()
  const head = await startReplicated(run, { fenceTimes: { leaseMs: 600_000, renewMs: 300 } })
  head.service.append([runStarted])
  const standby = await startStandby(run)
  await until('the copy follows', () => positionOf(standby.folder) === 1)
  await head.close(systemPlatform.hostname)
  const end = await standby.end
  assert.is(end.kind, 'take')
  await standby.stop()
})

test('a head that a person stopped keeps the run', async () => {
  const run = newRun()
  const head = await startReplicated(run)
  head.service.append([runStarted])
  const standby = await startStandby(run)
  await until('the copy follows', () => positionOf(standby.folder) === 1)
  head.service.append([{ type: 'RunPaused', data: { reason: 'interrupted by a person' } }])
  await head.close()
  await until('the copy follows', () => positionOf(standby.folder) === 2)
  const again = await startReplicated(run, { root: join(head.folder.folder, '..') })
  assert.is(again.log.head().position, 2)
  await again.close()
  await standby.stop()
})

test('a head that is cut off loses the run, and nothing that it acknowledged', async () => {
  const run = newRun()
  const root = temporaryFolder()
  const head = await startReplicated(run, { root })
  head.service.append([runStarted])
  const standby = await startStandby(run)
  const log = connectLog({ bus: head.bus, run, actor: 'head' })
  await log.append([pause])
  // The head hears and says nothing any more.
  await head.bus.close()
  // It does not know yet that nobody hears of this.
  head.service.append([resume])
  const end = await standby.end
  assert.is(end.kind, 'take')
  const silent = end.kind === 'take' ? end.silent : 0
  assert.is(positionOf(standby.folder), 2)
  const next = await startReplicated(run, { root: join(standby.folder.folder, '..'), silent })
  next.service.append([{ type: 'RunResumed', data: { reason: 'the standby goes on' } }])
  await until('the brokers have it', async () => {
    const reply = await connectLog({ bus: next.bus, run, actor: 'head' }).read({ from: 3, limit: 1 })
    return reply.events.length === 1
  })
  log.close()
  await head.close()
  await standby.stop()
  // The old head comes back as a standby: its own last event was heard by nobody.
  const old = await startStandby(run, root)
  await until('the copy is anew', () => positionOf(old.folder) === next.log.head().position)
  assert.match(old.said.join(), /put-aside-1/)
  assert.ok(existsSync(join(old.folder.folder, 'put-aside-1', 'events.db')))
  assert.equal(headOf(old.folder), next.log.head())
  await old.stop()
  await next.close()
})

test('nobody hears of an event before the brokers have it', async () => {
  const run = newRun()
  const head = await startReplicated(run)
  head.service.append([runStarted])
  const log = connectLog({ bus: head.bus, run, actor: 'head' })
  await log.append([pause])
  await cluster.kill(0)
  await cluster.kill(1)
  let answered = false
  const appended = log.append([resume]).then(() => {
    answered = true
  })
  await until('it is in the log of the head', () => head.log.head().position === 3)
  assert.is(answered, false)
  cluster.start(0)
  cluster.start(1)
  await appended
  const { events } = await log.read({ from: 3, limit: 1 })
  assert.is(events.length, 1)
  log.close()
  await head.close()
})

test('a head of an older epoch stops at the first record of a newer one', async () => {
  const run = newRun()
  const bus = await connectBus({ ...cluster.address, replicas: REPLICAS })
  const logs = [1, 2].map(() => openLog(runFolder(run, temporaryFolder()).log, { run, minFreeBytes: 0 }))
  const [first, second] = logs
  const records = recordsOf(bus, run)
  const old = await openReplica({ log: first, records, epoch: 1, platform: systemPlatform })
  const next = await openReplica({ log: second, records, epoch: 2, platform: systemPlatform })
  old.note([{ position: 1, body: Buffer.from('what nobody has heard of') }])
  const code = (error: RlError) => error.code
  assert.is(await old.kept().then(() => 'kept', code), 'head.fenced')
  assert.is((await old.lost).code, 'head.fenced')
  const late = openReplica({ log: first, records, epoch: 1, platform: systemPlatform })
  assert.is(await late.then(() => 'held', code), 'head.fenced')
  await next.close()
  for (const log of logs) log.close()
  await bus.close()
})

test('brokers that lost their store get the whole log at the next start', async () => {
  const run = newRun()
  const root = temporaryFolder()
  const head = await startReplicated(run, { root })
  head.service.append([runStarted])
  const log = connectLog({ bus: head.bus, run, actor: 'head' })
  await log.putBlob(Buffer.from('a blob'))
  await log.append([pause])
  log.close()
  await head.close()
  const bus = await connectBus({ ...cluster.address, replicas: REPLICAS })
  await bus.request(`$JS.API.STREAM.DELETE.rl-${run}-log`, new Uint8Array(), { timeoutMs: 5_000 })
  await bus.close()
  const again = await startReplicated(run, { root })
  const standby = await startStandby(run)
  await until('the copy is whole', () => positionOf(standby.folder) === 2)
  const copy = openLogReader(standby.folder.log)
  assert.is(copy.blobs.own().length, 1)
  copy.close()
  await standby.stop()
  await again.close()
})

test('a run that keeps no records has no standby', async () => {
  const bus = await connectBus(cluster.address)
  const fence = await takeFence({ bus, run: 'alone', after: 0, alone: true })
  const folder = runFolder('alone', temporaryFolder())
  const say = () => {}
  const error = await standBy({ bus, folder, signal: new AbortController().signal, say }).catch(
    (failure: RlError) => failure,
  )
  assert.is((error as RlError).code, 'standby.no-records')
  await fence.release()
  await bus.close()
})

test.run()
