import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { startActor } from '../../src/actors/runtime/actor.ts'
import { startBroker } from '../../src/broker/broker.ts'
import type { BusAddress } from '../../src/events/bus.ts'
import type { NewEvent } from '../../src/events/catalogue.ts'
import type { User } from '../../src/events/users.ts'
import { startProcess } from '../support/processes.ts'
import { startTestHead, type TestHead, temporaryFolder, until } from '../support/run.ts'
import { environmentWorker, policyWorker, runStarted, toyEnvironment, toyPolicy } from '../support/toy.ts'

const completed: NewEvent = { type: 'RunCompleted', data: { iterations: 1, metrics: {} } }
const simulated: NewEvent = {
  ...runStarted,
  data: { ...runStarted.data, config: { environment: { name: 'simulated' } } },
} as NewEvent

function elsewhere() {
  const lines: string[] = []
  return { lines, awayMs: 600, say: (line: string) => void lines.push(line) }
}

/** A way to a broker that can be closed and opened again. */
async function startWay(target: string) {
  const { port } = new URL(target)
  const sockets = new Set<Socket>()
  let isOpen = true
  const server = createServer((incoming) => {
    incoming.on('error', () => {})
    if (!isOpen) return void incoming.destroy()
    const outgoing = connect({ host: '127.0.0.1', port: Number(port) })
    outgoing.on('error', () => incoming.destroy())
    outgoing.on('close', () => incoming.destroy())
    incoming.on('close', () => outgoing.destroy())
    sockets.add(incoming)
    incoming.pipe(outgoing).pipe(incoming)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `nats://127.0.0.1:${(server.address() as AddressInfo).port}`,
    cut() {
      isOpen = false
      for (const socket of sockets) socket.destroy()
    },
    mend() {
      isOpen = true
    },
    close: () => server.close(),
  }
}

/** A role as on another host, in a process of its own. */
function startRole({ addressOf }: TestHead, user: User, words: readonly string[] = []) {
  const { url, password } = addressOf(user)
  return startProcess(['src/main.ts', '--role', 'environment', '--run', 'test', '--nats', url, ...words], {
    NATS_USER: user,
    NATS_PASSWORD: String(password),
    RL_RUNS: temporaryFolder(),
  })
}

test('an actor elsewhere waits while the head is away, says so once, and goes on with the next head', async () => {
  const head = await startTestHead()
  head.service.append([runStarted])
  const told = elsewhere()
  const address = head.addressOf('environment-worker')
  const one = await startActor({
    ...{ role: 'environment', run: 'test', address, heartbeatMs: 200, headGoneMs: 60_000 },
    worker: environmentWorker(),
    elsewhere: told,
  })
  await until('the head was heard', () => head.watch.actors().length > 0)
  await head.close()
  await until('the absence is told', () => told.lines.length > 0)
  assert.match(told.lines[0] ?? '', /head of run 'test' has been away for \d+ s .*no connection to/)
  const next = await startTestHead({ root: head.folder.folder.replace(/\/test$/, '') })
  await until('the return is told', () => told.lines.some((line) => line.includes('is back after')))
  const environment = await startActor({
    ...{ role: 'environment', run: 'test', address: next.addressOf('environment'), heartbeatMs: 200 },
    worker: { jobs: {} },
    decider: toyEnvironment({ iterations: 1, rollouts: 4 }),
  })
  next.service.append([
    { type: 'IterationStarted', data: { iteration: 1, policyVersion: 0, rewardModelVersion: 0 } },
  ])
  await until('its work goes on', () => next.log.countByType().TrajectoryCompleted === 4)
  assert.is(told.lines.length, 2, told.lines.join('\n'))
  for (const actor of [one, environment]) await actor.stop()
  await next.close()
})

test('an actor elsewhere ends without an error when the run is over, one of the head does not', async () => {
  const head = await startTestHead()
  head.service.append([runStarted])
  const told = elsewhere()
  const shared = { run: 'test', heartbeatMs: 200 }
  const own = await startActor({
    ...{ ...shared, role: 'policy', address: head.addressOf('policy') },
    decider: toyPolicy(),
    worker: policyWorker,
  })
  const away = await startActor({
    ...{ ...shared, role: 'environment', address: head.addressOf('environment-worker') },
    worker: environmentWorker(),
    elsewhere: told,
  })
  let isOwnOver = false
  void own.done.then(() => {
    isOwnOver = true
  })
  head.service.append([completed])
  await away.done
  assert.equal(told.lines, ["run 'test' is over: this process ends"])
  assert.is(isOwnOver, false)
  await own.stop()
  await head.close()
})

test('an actor that was cut off while the run ended hears of the end from the broker', async () => {
  const root = temporaryFolder()
  const broker = await startBroker({ folder: `${root}/broker`, run: 'test' })
  const head = await startTestHead({ root, nats: broker.addressOf('head') })
  head.service.append([runStarted])
  const told = elsewhere()
  const way = await startWay(broker.addressOf('environment-worker').url)
  const address: BusAddress = { ...broker.addressOf('environment-worker'), url: way.url }
  const one = await startActor({
    ...{ role: 'environment', run: 'test', address, heartbeatMs: 200 },
    worker: environmentWorker(),
    elsewhere: told,
  })
  await until('the head was heard', () => head.watch.actors().length > 0)
  way.cut()
  head.service.append([completed])
  await head.close()
  await until('the absence is told', () => told.lines.length > 0)
  way.mend()
  await one.done
  assert.is(told.lines.at(-1), "run 'test' is over: this process ends")
  way.close()
  await broker.stop()
})

test('a process of a role elsewhere ends with status 0 when the run is over', async () => {
  const head = await startTestHead()
  head.service.append([simulated])
  const role = startRole(head, 'environment-worker', ['--worker'])
  await until('the role is there', () => head.watch.actors().length > 0, 120_000)
  head.service.append([completed])
  assert.is(await role.status, 0, role.output())
  assert.match(role.output(), /run 'test' is over/)
  await head.close()
})

test('a process that waits for a head ends with status 0 by Ctrl-C', async () => {
  const head = await startTestHead()
  head.service.append([simulated])
  const role = startRole(head, 'environment')
  await until('the role is there', () => head.watch.actors().length > 0, 120_000)
  await head.close()
  await until('the absence is told', () => role.output().includes('has been away for'), 120_000)
  role.process.kill('SIGINT')
  assert.is(await role.status, 0, role.output())
})

test.run()
