/** Pause and resume by a person: a real head and broker, and workers as far as they play. */
import { once } from 'node:events'
import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { serveControl } from '../../../src/actors/head/control.ts'
import { controlHead } from '../../../src/actors/head/control-head.ts'
import { startActor } from '../../../src/actors/runtime/actor.ts'
import { readConnection, runFolder, writeConnection } from '../../../src/broker/connection.ts'
import { findNatsServer } from '../../../src/broker/find.ts'
import { pause } from '../../../src/clock.ts'
import { RlError } from '../../../src/errors.ts'
import type { EventType } from '../../../src/events/catalogue.ts'
import { connectLog } from '../../../src/events/log-client.ts'
import { pack } from '../../../src/events/msgpack.ts'
import { connectBus } from '../../../src/events/nats/connect.ts'
import { turnOf } from '../../../src/events/run-turn.ts'
import { subjectsOf } from '../../../src/events/subjects.ts'
import { spawnGuarded } from '../../../src/platform/processes.ts'
import { startTestHead, type TestHead, temporaryFolder, until } from '../../support/run.ts'
import {
  environmentWorker,
  idleWorker,
  policyUpdated,
  runStarted,
  toyEnvironment,
} from '../../support/toy.ts'

const PLENTY = 10_000_000_000
const iterationStarted = {
  type: 'IterationStarted',
  data: { iteration: 1, policyVersion: 0, rewardModelVersion: 0 },
} as const

async function startSteered(options: Parameters<typeof startTestHead>[0] = {}): Promise<TestHead> {
  const head = await startTestHead(options)
  head.service.append([runStarted])
  serveControl(head)
  return head
}

async function refused(request: Promise<unknown>): Promise<{ code: string; message: string; hint: string }> {
  try {
    await request
  } catch (error) {
    assert.instance(error, RlError)
    const { code, message, hint = '' } = error as RlError
    return { code, message, hint }
  }
  throw new Error('it was not refused')
}

const codeOf = async (request: Promise<unknown>) => (await refused(request)).code
const turns = ({ log }: TestHead) =>
  [...log.events({ types: ['RunPaused', 'RunResumed'] })].map(({ type, data }) => [type, data.reason])
const count = ({ log }: TestHead, type: EventType) => log.countByType()[type] ?? 0

test('a run is paused once and resumed once, and both answers say how it stands', async () => {
  const head = await startSteered()
  const before = await controlHead(head.folder, 'resume')
  assert.equal([before.state, before.changed, before.since], ['running', false, null])
  const first = await controlHead(head.folder, 'pause', ' lunch ')
  assert.equal([first.state, first.changed, first.reason], ['paused', true, 'paused by a person: lunch'])
  assert.is(first.position, head.log.head().position)
  assert.equal(turnOf(head.log).kind, 'held')
  const second = await controlHead(head.folder, 'pause', 'tea')
  assert.equal(second, { ...first, changed: false })
  const third = await controlHead(head.folder, 'resume')
  assert.equal([third.state, third.changed, third.since, third.reason], ['running', true, null, null])
  assert.is((await controlHead(head.folder, 'resume')).changed, false)
  assert.is((await controlHead(head.folder, 'pause')).reason, 'paused by a person')
  assert.equal(turns(head), [
    ['RunPaused', 'paused by a person: lunch'],
    ['RunResumed', 'resumed by a person'],
    ['RunPaused', 'paused by a person'],
  ])
  await head.close()
})

test('only the operator may ask, and only for what there is', async () => {
  const head = await startSteered()
  const { credentials } = head.folder
  if (process.platform !== 'win32')
    assert.is(statSync(join(credentials, 'operator.json')).mode & 0o777, 0o600)
  const control = subjectsOf('test').call('head.control')
  const tool = await connectBus(head.addressOf('tool'))
  assert.match(
    (await refused(tool.request(control, pack({ action: 'pause' }), { timeoutMs: 2_000 }))).message,
    /ermission|did not answer/,
  )
  await tool.close()
  const operator = await connectBus(head.addressOf('operator'))
  for (const request of [
    { action: 'stop' },
    {},
    { action: 'pause', force: true },
    { action: 'pause', reason: 7 },
    { action: 'pause', reason: 'x'.repeat(201) },
    { action: 'pause', reason: 'x'.repeat(10_000) },
    ['pause'],
  ])
    assert.is(
      await codeOf(operator.request(control, pack(request), { timeoutMs: 60_000 })),
      'bus.bad-request',
    )
  assert.equal(turns(head), [])
  await controlHead(head.folder, 'pause', 'é'.repeat(200))
  await operator.close()
  await head.close()
})

test('a broker that knows no users takes the request with the token of the connection', async () => {
  const folder = temporaryFolder()
  const [config, log] = [join(folder, 'nats.conf'), join(folder, 'nats.log')]
  const store = join(folder, 'store')
  const lines = ['host: "127.0.0.1"', 'port: -1', `log_file: "${log}"`, `jetstream { store_dir: "${store}" }`]
  writeFileSync(config, [...lines, 'authorization { token: secret }', ''].join('\n'))
  writeFileSync(log, '')
  const guard = spawnGuarded((await findNatsServer()).path, ['-c', config])
  const listening = () => /client connections on (127\.0\.0\.1:\d+)/.exec(readFileSync(log, 'utf8'))?.[1]
  await until('the server listens', () => listening() !== undefined)
  const head = await startSteered({ nats: { url: `nats://${listening()}`, token: 'secret' } })
  assert.is((await controlHead(head.folder, 'pause')).changed, true)
  await head.close()
  const ended = once(guard, 'exit')
  guard.stdin?.end()
  await ended
})

test('a pause of the disk is not lifted by a person, and does not lift the pause of a person', async () => {
  let free = PLENTY
  const head = await startSteered({ minFreeBytes: 1_000_000, freeBytes: () => free })
  const log = connectLog({ bus: head.bus, run: 'test', actor: 'policy' })
  free = 10
  // The log remembers for a second that there was room.
  const appends: Promise<unknown>[] = []
  await until('the disk has paused the run', () => {
    appends.push(log.append([policyUpdated(appends.length + 1)]))
    return head.service.pausedSince() !== null
  })
  assert.is(await codeOf(controlHead(head.folder, 'resume')), 'log.disk-full')
  assert.is((await controlHead(head.folder, 'pause', 'lunch')).changed, true)
  assert.is(await codeOf(controlHead(head.folder, 'resume')), 'log.disk-full')
  free = PLENTY
  await until('there is room again', () => head.service.pausedSince() === null)
  assert.equal(turnOf(head.log).kind, 'held')
  assert.equal(
    turns(head).map(([type]) => type),
    ['RunPaused', 'RunPaused', 'RunPaused'],
  )
  assert.is((await controlHead(head.folder, 'resume')).state, 'running')
  await Promise.all(appends)
  log.close()
  await head.close()
})

test('a worker ends what it plays, takes nothing new while the run is paused, and uses up no attempt', async () => {
  const head = await startSteered()
  const begun: string[] = []
  let end: () => void = () => {}
  const first = new Promise<void>((resolve) => {
    end = resolve
  })
  const play = (rollout: string) => {
    begun.push(rollout)
    return begun.length === 1 ? first : Promise.resolve()
  }
  const options = { role: 'environment', run: 'test', heartbeatMs: 200 } as const
  const actors = await Promise.all([
    startActor({
      ...options,
      address: head.addressOf('environment'),
      worker: idleWorker,
      decider: toyEnvironment({ iterations: 1, rollouts: 6 }),
    }),
    startActor({
      ...options,
      address: head.addressOf('environment-worker'),
      worker: environmentWorker(play, { concurrency: 1, deadlineMs: 1_000 }),
    }),
  ])
  head.service.append([iterationStarted])
  await until('a rollout is played', () => begun.length === 1)
  await until('it is told of', () => head.watch.actors().some(({ waits }) => waits.length > 0))
  const { openRollouts, inHand } = await controlHead(head.folder, 'pause')
  assert.is(openRollouts, 6)
  assert.match(inHand.join(), /^environment\/\w+: Rollout\/1\/slot\/0 \(play\)$/)
  end()
  await until('it ended', () => count(head, 'TrajectoryCompleted') === 1)
  // Longer than the deadline of a rollout.
  await pause(1_500)
  assert.is(begun.length, 1)
  assert.is(count(head, 'TrajectoryCompleted'), 1)
  await controlHead(head.folder, 'resume')
  await until('all ended', () => count(head, 'TrajectoryCompleted') === 6)
  assert.is(begun.length, 6)
  for (const type of ['StallDetected', 'RolloutFailed', 'ActorFailed'] as const)
    assert.is(count(head, type), 0)
  await controlHead(head.folder, 'pause')
  for (const actor of actors) await actor.stop()
  await head.close()
})

test('the error says why there is no head to ask', async () => {
  const head = await startSteered({ run: 'lunch' })
  const root = join(head.folder.folder, '..')
  const misspelt = await refused(controlHead(runFolder('lunhc', root), 'pause'))
  assert.is(misspelt.code, 'run.unknown')
  assert.match(misspelt.hint, /'lunch'/)
  const connection = readConnection(head.folder.connection)
  assert.ok(connection)
  head.service.append([{ type: 'RunCompleted', data: { iterations: 1, metrics: {} } }])
  assert.is(await codeOf(controlHead(head.folder, 'pause')), 'run.over')
  const operator = await connectBus(head.addressOf('operator'))
  const control = subjectsOf('lunch').call('head.control')
  const request = operator.request(control, pack({ action: 'resume' }), { timeoutMs: 60_000 })
  assert.is(await codeOf(request), 'run.over')
  await operator.close()
  await head.close()

  const older = await startTestHead({ run: 'older', root })
  older.service.append([runStarted])
  assert.is(await codeOf(controlHead(older.folder, 'pause')), 'run.no-control')
  await older.close()
  const stopped = await refused(controlHead(older.folder, 'resume'))
  assert.is(stopped.code, 'run.no-head')
  assert.match(stopped.hint, /^npm start -- --role head --run older/)
  // A head that was killed leaves its connection.
  writeConnection(older.folder.connection, { ...connection, run: 'older' })
  assert.is(await codeOf(controlHead(older.folder, 'resume')), 'run.no-head')
})

test.run()
