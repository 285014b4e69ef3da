/** Whole runs of the simulated learner: processes, broker and log are real. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import * as assert from 'uvu/assert'
import { runFolder } from '../../src/broker/connection.ts'
import { openLogReader } from '../../src/events/log-reader.ts'
import { verifyLog } from '../../src/events/verify.ts'
import { PROJECTIONS } from '../../src/projections/all.ts'
import { catchUp, openProjections } from '../../src/projections/projection.ts'
import { eventsBelow } from './logged.ts'
import type { Started } from './processes.ts'

const ITERATIONS = 8
export const SETTINGS = [
  'environment.name=simulated',
  'policy.provider=simulated',
  'rewardModel.provider=simulated',
  'environment.tasksPerIteration=4',
  'environment.rolloutsPerTask=4',
  'evaluation.tasks=4',
  'run.heartbeatSeconds=0.5',
  `run.iterations=${ITERATIONS}`,
]

/** A process of the run to end by force, of the kind asked for; null where none lives now. */
export function victim(root: string, run: string, kind: string, head: Started): number | null {
  if (kind === 'head') return head.process.pid ?? null
  if (kind === 'broker') {
    const path = join(runFolder(run, root).broker, 'nats.pid')
    return existsSync(path) ? Number(readFileSync(path, 'utf8')) : null
  }
  const started = eventsBelow(root)(run, ['ActorStarted']).filter(
    (event) => event.type === 'ActorStarted' && event.data.role === kind,
  )
  const last = started.at(-1)
  return last?.type === 'ActorStarted' ? last.data.pid : null
}

/** What holds of every run, whatever happened to its processes. */
export function checkInvariants(root: string, run: string, iterations = ITERATIONS): void {
  const events = eventsBelow(root)(run)
  for (const [index, event] of events.entries())
    assert.is(event.position, index + 1, 'positions have no gaps')
  const ends = events.filter(({ type }) => type === 'TrajectoryCompleted' || type === 'RolloutFailed')
  const rollouts = ends.map(({ data }) => (data as { rollout: string }).rollout)
  assert.is(new Set(rollouts).size, rollouts.length, 'a rollout ends once')
  const requested = events.filter(({ type }) => type === 'RolloutRequested').length
  assert.is(rollouts.length, requested, 'every rollout that was asked for ended')
  const versions = events.flatMap((event) => (event.type === 'PolicyUpdated' ? [event.data.version] : []))
  assert.equal(
    versions,
    Array.from({ length: iterations + 1 }, (_, version) => version),
  )
  const live = new Database(runFolder(run, root).projections)
  const rebuilt = new Database(':memory:')
  const log = openLogReader(runFolder(run, root).log)
  assert.ok(verifyLog(log).ok, 'the chain of hashes holds')
  const fromLog = openProjections(rebuilt, PROJECTIONS)
  catchUp(fromLog, log)
  const kept = openProjections(live, PROJECTIONS)
  catchUp(kept, log)
  assert.equal(kept.digests(), fromLog.digests(), 'projections equal a rebuild')
  for (const open of [live, rebuilt, log]) open.close()
}
