/** kill -9 of every kind of process at random moments: nothing is lost, nothing happens twice, the run goes on. */
import { type ChildProcess, spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { readConnection, runFolder, toolAddress } from '../../src/broker/connection.ts'
import { type LogReader, openLogReader } from '../../src/events/log-reader.ts'
import { type Subscription, subscribe } from '../../src/events/subscription.ts'
import { verifyLog } from '../../src/events/verify.ts'
import { rng, seedOf } from '../../src/random.ts'
import { temporaryFolder, until } from '../support/run.ts'

const KILLS = Number(process.env.RL_TEST_KILLS ?? 20)
const plan = { iterations: 60, rollouts: 6 }
const KINDS = ['head', 'policy', 'environment', 'environment-worker'] as const
type Kind = (typeof KINDS)[number]

const root = temporaryFolder()
const folder = runFolder('crash', root)
const children = new Map<Kind, ChildProcess>()
let ending = false
process.once('exit', () => {
  for (const child of children.values()) child.kill('SIGKILL')
})

function start(kind: Kind): void {
  const child = spawn(
    process.execPath,
    ['test/actors/toy-process.ts', kind, root, String(plan.iterations), String(plan.rollouts)],
    { stdio: ['ignore', 'inherit', 'inherit'] },
  )
  children.set(kind, child)
  child.once('exit', () => {
    if (!ending) start(kind)
  })
}

function kill(victim: Kind | 'broker'): void {
  if (victim !== 'broker') children.get(victim)?.kill('SIGKILL')
  else {
    try {
      process.kill(Number(readFileSync(join(folder.broker, 'nats.pid'), 'utf8')), 'SIGKILL')
    } catch {
      // It is being started again.
    }
  }
}

async function openLog(): Promise<LogReader> {
  let log: LogReader | null = null
  await until('a log', () => {
    try {
      log = openLogReader(folder.log)
      return true
    } catch {
      return false
    }
  })
  return log as unknown as LogReader
}

test(`a run survives ${KILLS} kills`, async () => {
  for (const kind of KINDS) start(kind)
  const log = await openLog()
  const seen: number[] = []
  let subscription: Subscription | null = null
  await until('a connection', async () => {
    const connection = readConnection(folder.connection)
    if (!connection) return false
    try {
      subscription = await subscribe({ ...toolAddress(connection), run: 'crash' }, ({ position }) => {
        seen.push(position)
      })
      return true
    } catch {
      return false
    }
  })
  const random = rng(seedOf(7, 'crash'))
  for (let n = 0; n < KILLS; n++) {
    const victim = n < 5 ? ([...KINDS, 'broker'] as const)[n] : random.pick([...KINDS, 'broker'] as const)
    const goal = log.head().position + 5 + random.below(25)
    await until(
      `${goal} events after ${n} kills`,
      () => log.head().position >= goal || log.byKey('RunCompleted') !== null,
      120_000,
    )
    kill(victim)
  }
  await until('the end of the run', () => log.byKey('RunCompleted') !== null, 240_000)
  const last = log.head().position
  await until('the subscriber to have it all', () => (seen.at(-1) ?? 0) >= last)
  ending = true
  for (const child of children.values()) child.kill('SIGKILL')
  await (subscription as unknown as Subscription).stop()

  assert.is(verifyLog(log).ok, true)
  const counts = log.countByType()
  const total = plan.iterations * plan.rollouts
  assert.is(counts.RolloutRequested, total)
  assert.is((counts.TrajectoryCompleted ?? 0) + (counts.RolloutFailed ?? 0), total)
  assert.is(counts.IterationStarted, plan.iterations)
  assert.is(counts.IterationCompleted, plan.iterations)
  assert.is(counts.PolicyUpdated, plan.iterations)
  assert.equal(
    seen,
    seen.map((_, index) => index + 1),
    'every position once and in order',
  )
  log.close()
})

test.run()
