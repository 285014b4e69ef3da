/** Columns of trajectories in a store of S3's kind: the head's log has a reference, and each reader gets the same values. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { policyBatch } from '../src/actors/policy/batch.ts'
import { storedTrajectory, wholeTrajectories } from '../src/actors/rollout/stored-trajectories.ts'
import { type RunFolder, runFolder } from '../src/broker/connection.ts'
import { loggedConfig } from '../src/config.ts'
import type { EventData, LoggedEvent } from '../src/events/catalogue.ts'
import { wrongIn } from '../src/events/codec.ts'
import { digestOf } from '../src/events/digest.ts'
import type { LogClient } from '../src/events/log-client.ts'
import { type LogReader, openLogReader } from '../src/events/log-reader.ts'
import { pack } from '../src/events/msgpack.ts'
import { offlineLog } from '../src/events/offline-log.ts'
import { wholeTrajectory, withReference, withSegments } from '../src/events/stored-segments.ts'
import { verifyLog } from '../src/events/verify.ts'
import { openS3 } from '../src/platform/s3.ts'
import { trajectoryRows } from '../src/replay/export.ts'
import { replay } from '../src/replay/replay.ts'
import { copyRun, unpackFixture } from './replay/fixture.ts'
import { errorOf, faultOf } from './support/error-of.ts'
import { startProcess } from './support/processes.ts'
import { temporaryFolder } from './support/run.ts'
import { noS3, startS3 } from './support/s3-server.ts'

const STORE = 's3://columns/runs'
const KEYS = { AWS_ACCESS_KEY_ID: 'AKIDEXAMPLE0003', AWS_SECRET_ACCESS_KEY: 'secret-of-the-store-3' }
const root = temporaryFolder()
const source = unpackFixture(root)

type Trajectory = EventData<'TrajectoryCompleted'>

function trajectoriesOf(log: LogReader): Trajectory[] {
  return [...log.events({ types: ['TrajectoryCompleted'] })].map(({ data }) => data)
}

/** The committed run again, with a store in its config and its trajectories as `change` makes them. */
function copied(name: string, change: (data: Trajectory) => Trajectory): RunFolder {
  return copyRun(source, runFolder(name, root), {
    change: (event): LoggedEvent => {
      if (event.type === 'TrajectoryCompleted') return { ...event, data: change(event.data) }
      if (event.type !== 'RunStarted') return event
      const { run, ...config } = event.data.config
      return {
        ...event,
        data: { ...event.data, config: { ...config, run: { ...Object(run), store: STORE } } },
      }
    },
  })
}

const inStore = new Map<string, Uint8Array>()
/** Names what a store would hold under the digest of a trajectory's segments. */
function referred(data: Trajectory, log: LogReader): Trajectory {
  const bytes = pack(data.segments)
  const ref = log.blobs.put(bytes)
  inStore.set(ref.sha256, bytes)
  return withReference(data, STORE, ref)
}

const first = openLogReader(source.log)
const played = trajectoriesOf(first)
const one = played.find(({ trainable }) => trainable) as Trajectory

test('a reference gives the trajectory back, and other bytes leave it without tokens', () => {
  const stored = withReference(one, STORE, { sha256: 'a'.repeat(64), bytes: 9 })
  assert.equal(stored.segments, [])
  assert.equal(withSegments(stored, pack(one.segments)), one)
  const bad = [
    new Uint8Array(),
    Uint8Array.of(0xc1),
    pack('x'),
    pack([{ firstStep: -1 }]),
    pack([{ ...one }]),
  ]
  for (const bytes of bad) assert.is(withSegments(stored, bytes), stored)
})

test('the head refuses a reference beside segments, one that is too large, and one past the end', () => {
  const ref = { sha256: 'a'.repeat(64), bytes: 9 }
  const wrong = (data: Trajectory) => wrongIn({ type: 'TrajectoryCompleted', data })
  const stored = withReference(one, STORE, ref)
  assert.is(wrong(stored), null)
  assert.match(wrong({ ...stored, segments: one.segments }) ?? '', /stand in the event as well/)
  assert.match(wrong(withReference(one, STORE, { ...ref, bytes: 2 ** 30 })) ?? '', /over the limit/)
  const past = { ...stored, storedSegments: { store: STORE, ...ref, firstStep: one.steps + 1 } }
  assert.match(wrong(past) ?? '', /firstStep/)
})

test('a batch counts trajectories whose columns nobody could read, and trains on the others', () => {
  const config = loggedConfig([...first.events({ types: ['RunStarted'] })][0]?.data.config)
  const updates = [...first.events({ types: ['PolicyUpdated'] })]
  const { iteration } = updates.find(({ data }) => data.trainedOn.length > 0)?.data ?? {}
  const own = played.filter((data) => data.iteration === iteration && data.purpose === 'train')
  const scored = [...first.events({ types: ['StepScored'] })]
    .map(({ data }) => data)
    .filter((data) => data.iteration === iteration)
  const tasks = [...new Set(own.map(({ task }) => task))]
  const groups = tasks.map((task) => {
    const rollouts = own.filter((data) => data.task === task).map(({ rollout }) => rollout)
    const { slot } = own.find((data) => data.task === task) as Trajectory
    const accuracy = { successes: 0, n: rollouts.length }
    return { slot, task, purpose: 'train' as const, rollouts, accuracy }
  })
  const whole = policyBatch(groups, own, scored, config)
  const [lost] = whole.rollouts
  const ref = { sha256: 'a'.repeat(64), bytes: 9 }
  const without = own.map((data) => (data.rollout === lost ? withReference(data, STORE, ref) : data))
  const left = policyBatch(groups, without, scored, config)
  assert.is(left.health.rolloutsMalformed, 1)
  assert.equal(left.rollouts, whole.rollouts.slice(1))
})

test('a log with references is replayed and exported as the same with its columns, once they are on this disk', async () => {
  const bare = copied('without-columns', (data) => referred(data, first))
  const log = openLogReader(bare.log)
  assert.ok(verifyLog(log, { files: true }).ok)
  const stored = trajectoriesOf(log)
  assert.ok(stored.every(({ segments, storedSegments }) => segments.length === 0 && storedSegments))
  assert.is((await faultOf(() => [...trajectoryRows(log)])).code, 'columns.elsewhere')
  assert.is((await faultOf(() => replay(log))).code, 'columns.elsewhere')
  for (const bytes of inStore.values()) log.blobs.put(bytes)
  const rows = (reader: LogReader) => [...trajectoryRows(reader)].map(({ position: _, ...row }) => row)
  assert.equal(rows(log), rows(first))
  assert.is(replay(log).difference, null)
  assert.equal(
    stored.map((data) => wholeTrajectory(data, log)),
    played,
  )
  const whole = digestOf(first.events())
  assert.is.not(digestOf(log.events()), whole, 'the digest is over references')
  log.close()
})

const skip = noS3()
if (skip !== null) process.stdout.write(`SKIP columns in a store: ${skip}\n`)
else
  test('a worker puts large columns into the store, learners fetch them, and rl log fetch brings them here', async () => {
    const server = await startS3('columns')
    const env = { ...KEYS, AWS_ENDPOINT_URL: server.url }
    Object.assign(process.env, env)
    const plain = copied('with-columns', (data) => data)
    const offline = offlineLog(openLogReader(plain.log))
    const client: LogClient = Object.create(offline, { apart: { value: true } })
    assert.is(await storedTrajectory(client, one), one, 'small columns stay in the event')
    const [segment] = one.segments
    const large = {
      ...one,
      segments: Array.from({ length: 400 }, () => ({ ...(segment as object) })),
    } as Trajectory
    const told = await storedTrajectory(client, large)
    assert.ok(pack(told).byteLength < 16_000)
    assert.is(await storedTrajectory(offline, large), large, 'one disk needs no store')
    assert.equal(await wholeTrajectories(client, [one, told]), [one, large])
    const none = withReference(one, STORE, { sha256: 'b'.repeat(64), bytes: 9 })
    assert.is((await errorOf(wholeTrajectories(client, [none]))).code, 'store.missing')

    const store = await openS3(STORE, { env })
    for (const bytes of inStore.values()) await store.putBlob(bytes)
    store.close()
    const bare = copied('fetched', (data) => referred(data, first))
    const fetched = startProcess(['src/rl.ts', 'log', 'fetched', 'fetch'], { RL_RUNS: root, ...env })
    assert.is(await fetched.status, 0, fetched.output())
    assert.match(fetched.output(), new RegExp(`^fetched=${inStore.size} bytes=\\d+$`, 'm'))
    const log = openLogReader(bare.log)
    assert.equal(
      trajectoriesOf(log).map((data) => wholeTrajectory(data, log)),
      played,
    )
    log.close()
    await server.stop()
    for (const name of Object.keys(env)) delete process.env[name]
  })

test.run()
