/** The whole system as a user starts it: processes, broker, log. The learner is simulated, everything else is real. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { runFolder } from '../src/broker/connection.ts'
import { digestOf } from '../src/events/digest.ts'
import { openLogReader } from '../src/events/log-reader.ts'
import { verifyLog } from '../src/events/verify.ts'
import { PROJECTIONS } from '../src/projections/all.ts'
import { catchUp, openProjections } from '../src/projections/projection.ts'
import { rng, seedOf } from '../src/random.ts'
import { eventsBelow } from './support/logged.ts'
import { type Started, startHead } from './support/processes.ts'
import { temporaryFolder, until } from './support/run.ts'

const KILLS = 20
const ITERATIONS = 8
const SETTINGS = [
  'environment.name=simulated',
  'policy.provider=simulated',
  'rewardModel.provider=simulated',
  'environment.tasksPerIteration=4',
  'environment.rolloutsPerTask=4',
  'evaluation.tasks=4',
  'run.heartbeatSeconds=0.5',
  `run.iterations=${ITERATIONS}`,
]

const root = temporaryFolder()
const eventsOf = eventsBelow(root)

function newestPosition(run: string): number {
  return eventsOf(run).at(-1)?.position ?? 0
}

function isComplete(run: string): boolean {
  return eventsOf(run, ['RunCompleted']).length === 1
}

/** A process of the run to end by force, of the kind asked for; null where none lives now. */
function victim(run: string, kind: string, head: Started): number | null {
  if (kind === 'head') return head.process.pid ?? null
  if (kind === 'broker') {
    const path = join(runFolder(run, root).broker, 'nats.pid')
    return existsSync(path) ? Number(readFileSync(path, 'utf8')) : null
  }
  const started = eventsOf(run, ['ActorStarted']).filter(
    (event) => event.type === 'ActorStarted' && event.data.role === kind,
  )
  const last = started.at(-1)
  return last?.type === 'ActorStarted' ? last.data.pid : null
}

function kill(pid: number): boolean {
  try {
    return process.kill(pid, 'SIGKILL')
  } catch {
    return false
  }
}

function checkInvariants(run: string): void {
  const events = eventsOf(run)
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
    Array.from({ length: ITERATIONS + 1 }, (_, version) => version),
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

test('a run completes, and one whose processes are killed all the time ends with the same events', async () => {
  const undisturbed = startHead(root, 'undisturbed', SETTINGS)
  assert.is(await undisturbed.status, 0, undisturbed.output())
  checkInvariants('undisturbed')

  let head = startHead(root, 'killed', SETTINGS)
  const random = rng(seedOf(5, 'kills'))
  const kinds = ['policy', 'reward-model', 'environment', 'adapter', 'broker', 'head']
  let kills = 0
  for (let turn = 0; kills < KILLS && !isComplete('killed'); turn++) {
    const before = newestPosition('killed')
    const after = before + 1 + random.below(25)
    await until(
      `past position ${after}`,
      () => newestPosition('killed') >= after || isComplete('killed'),
      60_000,
    )
    const kind = kinds[turn % kinds.length]
    const pid = victim('killed', kind, head)
    if (isComplete('killed') || pid === null || !kill(pid)) continue
    kills++
    if (kind !== 'head') continue
    await head.status
    head = startHead(root, 'killed')
  }
  assert.is(await head.status, 0, head.output())
  assert.ok(kills >= KILLS, `${kills} kills before the run was over`)
  checkInvariants('killed')
  const same = (run: string) => eventsOf(run).filter(({ type }) => type !== 'RunStarted')
  assert.is(digestOf(same('killed')), digestOf(same('undisturbed')))
})

test('a process that hangs is ended, another is started, and the run goes on', async () => {
  const head = startHead(root, 'hung', [...SETTINGS, 'run.deadlines.silenceSeconds=3'])
  await until('an iteration', () => eventsOf('hung', ['IterationStarted']).length > 1, 60_000)
  const pid = victim('hung', 'environment', head)
  assert.ok(pid !== null)
  process.kill(pid, 'SIGSTOP')
  assert.is(await head.status, 0, head.output())
  assert.match(head.output(), /environment said nothing for 3 s and was ended; it is started again/)
  checkInvariants('hung')
})

test('Ctrl-C pauses a run in good order, and it goes on where its log ends', async () => {
  const first = startHead(root, 'paused', SETTINGS)
  await until('an iteration', () => eventsOf('paused', ['IterationStarted']).length > 2, 60_000)
  first.process.kill('SIGINT')
  assert.is(await first.status, 130, first.output())
  assert.match(first.output(), /go on: +npm start -- --role head --run paused/)
  const second = startHead(root, 'paused')
  assert.is(await second.status, 0, second.output())
  checkInvariants('paused')
})

test('a second head on a run is refused, and a config cannot change', async () => {
  const first = startHead(root, 'twice', SETTINGS)
  await until('started', () => eventsOf('twice', ['RunStarted']).length === 1, 60_000)
  const second = startHead(root, 'twice')
  assert.is(await second.status, 1)
  assert.match(second.output(), /another|in use|locked/i)
  first.process.kill('SIGINT')
  await first.status
  const changed = startHead(root, 'twice', ['run.iterations=9'])
  assert.is(await changed.status, 1)
  assert.match(changed.output(), /config never changes/)
})

for (const run of ['a.b', 'a*', 'a>b', 'a b'])
  test(`the run id '${run}' is refused`, async () => {
    const head = startHead(root, run, SETTINGS)
    assert.is(await head.status, 1)
    assert.match(head.output(), /run id/)
  })

test.run()
