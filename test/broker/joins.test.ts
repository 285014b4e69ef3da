/** Hosts that join a run: their files, their keys, and the end of their right, on a real broker with TLS. */
import '../../src/setting-packages.ts'
import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { checkJoined, joinedAddress } from '../../src/actors/joined.ts'
import { eventQueue, ROLLOUT_WORK } from '../../src/actors/runtime/work.ts'
import { type JoinFile, newJoin, readJoinFile, readJoins, writeJoins } from '../../src/broker/joins.ts'
import { command } from '../../src/cli/join.ts'
import { configDigest, loggable, parseConfig } from '../../src/config.ts'
import type { EventData } from '../../src/events/catalogue.ts'
import { connectLog } from '../../src/events/log-client.ts'
import { connectBus } from '../../src/events/nats/connect.ts'
import { CONSUMER } from '../../src/events/nats/queues.ts'
import { readFixtures, sampleOf } from '../events/samples.ts'
import { errorOf } from '../support/error-of.ts'
import { startProcess } from '../support/processes.ts'
import { startTestHead, temporaryFolder, until } from '../support/run.ts'
import { runStarted } from '../support/toy.ts'

/** The part of a server's answer that KEDA reads. */
type Told = {
  readonly account_details?: readonly {
    readonly stream_detail: readonly {
      readonly name: string
      readonly consumer_detail: readonly {
        readonly name: string
        readonly num_pending: number
        readonly num_ack_pending: number
      }[]
    }[]
  }[]
}

const root = temporaryFolder()
process.env.RL_RUNS = root
const file = join(temporaryFolder(), 'host.join')
const head = await startTestHead({ root, cluster: '127.0.0.1' })
const config = parseConfig({})
head.service.append([
  {
    type: 'RunStarted',
    data: {
      config: loggable(config),
      configDigest: configDigest(config),
      codeVersion: '0.0.0',
      seed: config.run.seed,
      parent: null,
    },
  },
])
test.after(() => head.close())

const changed = (change: Partial<JoinFile>) => {
  writeFileSync(file, JSON.stringify({ ...JSON.parse(readFileSync(file, 'utf8')), ...change }))
  return readJoinFile(file)
}

/** Resolves once the broker lets a host in. */
async function connectSoon(joined: JoinFile) {
  for (let tries = 0; ; tries++)
    try {
      return await connectBus(joinedAddress(joined))
    } catch (error) {
      if (tries === 50) throw error
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
}

test('a file lets a host in with a key of its own, and with the rights of its role', async () => {
  await command.run(['test', '--role', 'environment', '-o', file])
  assert.is(statSync(file).mode & 0o777, 0o600)
  const joined = await readJoinFile(file)
  assert.equal(joined.servers, [head.broker?.url])
  assert.match(joined.servers[0] ?? '', /^tls:/)
  assert.not.match(readFileSync(join(head.folder.broker, 'joins.json'), 'utf8'), joined.nkey)
  const bus = await connectSoon(joined)
  assert.is(bus.user, 'environment')
  const log = connectLog({ bus, run: 'test', actor: 'environment' })
  await checkJoined(log, joined, false)
  const refused = await errorOf(log.append([{ type: 'RunPaused', data: { reason: 'no' } }]))
  assert.match(refused.message, /RunPaused/)
  log.close()
  await bus.close()
})

test('a host that connects while the broker learns of it is let in', async () => {
  const joined = await readJoinFile(file)
  const { join: right, nkey } = newJoin('policy', 60_000)
  const connecting = connectBus(joinedAddress({ ...joined, user: 'policy', nkey }))
  const before = readJoins(head.folder)
  writeJoins(head.folder, [...before, right])
  const bus = await connecting
  assert.is(bus.user, 'policy')
  await bus.close()
  writeJoins(head.folder, before)
})

test('rl doctor --join checks all that a host needs', async () => {
  const told = async () => {
    const { status, output } = startProcess(['src/rl.ts', 'doctor', '--join', file, '--json'], {
      RL_RUNS: root,
    })
    const end = await status
    const lines = output()
      .trim()
      .split('\n')
      .filter((line) => line.startsWith('{'))
    return { end, findings: lines.map((line) => JSON.parse(line)) as { check: string; result: string }[] }
  }
  const results = ({ findings }: Awaited<ReturnType<typeof told>>) =>
    Object.fromEntries(findings.map(({ check, result }) => [check, result]))
  const good = await told()
  assert.is(good.end, 0, JSON.stringify(good))
  const all = {
    node: 'ok',
    file: 'ok',
    code: 'ok',
    broker: 'ok',
    run: 'ok',
    clock: 'ok',
    log: 'ok',
    disk: 'ok',
  }
  assert.equal(results(good), all)
  const kept = readFileSync(file)
  await changed({ servers: ['tls://127.0.0.1:9'], code: '0'.repeat(64) })
  const bad = await told()
  assert.is(bad.end, 1)
  assert.equal(results(bad), { node: 'ok', file: 'ok', code: 'fail', broker: 'fail', disk: 'ok' })
  writeFileSync(file, '{}')
  assert.equal(results(await told()), { node: 'ok', file: 'fail', disk: 'ok' })
  writeFileSync(file, kept)
})

test('another run, other code and a stranger authority are errors that say what to do', async () => {
  const joined = await readJoinFile(file)
  const bus = await connectSoon(joined)
  const log = connectLog({ bus, run: 'test', actor: 'environment' })
  const other = await errorOf(checkJoined(log, { ...joined, runStart: '0'.repeat(64) }, false))
  assert.is(other.code, 'join.other-run')
  const code = { ...joined, code: '0'.repeat(64) }
  assert.is((await errorOf(checkJoined(log, code, false))).code, 'join.other-code')
  await checkJoined(log, code, true)
  log.close()
  await bus.close()
  const { certificatesFor } = await import('../../src/broker/certificates.ts')
  const stranger = await certificatesFor('127.0.0.1', temporaryFolder())
  const error = await errorOf(connectBus(joinedAddress({ ...joined, ca: readFileSync(stranger.ca, 'utf8') })))
  assert.is(error.code, 'bus.tls-unverified')
})

test('a wrong, damaged or old file is refused before anything is asked', async () => {
  const code = async (change: object) => (await errorOf(changed(change))).code
  const kept = readFileSync(file)
  assert.is(await code({ expires: Date.now() - 1 }), 'join.expired')
  writeFileSync(file, kept)
  for (const change of [
    { v: 2 },
    { servers: [] },
    { nkey: 'SU' },
    { user: 'root' },
    { more: 1 },
    { ca: 'x'.repeat(70_000) },
  ]) {
    assert.is(await code(change), 'join.bad-file', JSON.stringify(Object.keys(change)))
    writeFileSync(file, kept)
  }
  for (const text of ['', '{', 'null', '[]', '"x"', kept.toString().slice(0, -40)]) {
    writeFileSync(file, text)
    assert.is((await errorOf(readJoinFile(file))).code, 'join.bad-file')
  }
  writeFileSync(file, kept)
  assert.is((await errorOf(readJoinFile(join(root, 'none')))).code, 'join.bad-file')
  assert.is((await errorOf(readJoinFile(root))).code, 'join.bad-file')
})

test('a right that is rotated, revoked or over ends while the run goes on', async () => {
  const old = await readJoinFile(file)
  const bus = await connectSoon(old)
  await command.run(['test', 'rotate', old.id, '-o', file])
  const renewed = await readJoinFile(file)
  assert.is(renewed.id, old.id)
  assert.is.not(renewed.nkey, old.nkey)
  await bus.closed
  assert.is((await errorOf(connectBus(joinedAddress(old)))).code, 'bus.wrong-token')
  const next = await connectSoon(renewed)
  await command.run(['test', 'revoke', old.id])
  await next.closed
  assert.equal(readJoins(head.folder), [])

  const short = newJoin('environment', 3_000)
  writeJoins(head.folder, [short.join])
  const brief = await connectSoon({ ...renewed, nkey: short.nkey })
  await brief.closed
  assert.ok(head.bus.connected(), 'the head is not disturbed')
  await until(
    'an end',
    async () =>
      (await errorOf(connectBus(joinedAddress({ ...renewed, nkey: short.nkey })))).code === 'bus.wrong-token',
  )
})

test('the process of a host whose right is revoked ends, and says why', async () => {
  await command.run(['test', '--role', 'environment', '-o', file])
  const joined = startProcess(['src/main.ts', '--join', file], { RL_RUNS: temporaryFolder() })
  await until('a host', () => joined.output().includes('joined run test'))
  await command.run(['test', 'revoke', (await readJoinFile(file)).id])
  await until('its end', () => joined.process.exitCode !== null, 90_000)
  assert.is(await joined.status, 1, joined.output())
  assert.match(joined.output(), /does not take this host's key: its right was rotated or revoked/)
  assert.match(joined.output(), /join RUN rotate ID/)
})

test('a broker that is alone waits at the port that a person chose', async () => {
  const port = 20_000 + (process.pid % 10_000)
  const chosen = await startTestHead({ root, run: 'chosen', cluster: `127.0.0.1:${port}` })
  assert.is(chosen.broker?.url, `tls://127.0.0.1:${port}`)
  await chosen.close()
  assert.is(
    (await errorOf(startTestHead({ root, run: 'far', cluster: '127.0.0.1:99999' }))).code,
    'cli.usage',
  )
})

test('the monitor tells of each queue what waits and what is in hand, as KEDA asks for it', async () => {
  const measured = await startTestHead({ root, run: 'measured', cluster: '127.0.0.1' })
  const monitor = measured.broker?.monitor ?? ''
  assert.match(monitor, /^http:\/\/127\.0\.0\.1:\d+$/)
  const fixture = readFixtures().findLast(({ type }) => type === 'RolloutRequested')
  assert.ok(fixture)
  const data = sampleOf(fixture).data as EventData<'RolloutRequested'>
  measured.service.append([runStarted])
  for (const index of [0, 1, 2])
    measured.service.append([{ type: 'RolloutRequested', data: { ...data, rollout: `1/x/${index}` } }])
  const wanted = eventQueue('measured', ROLLOUT_WORK.type)
  const countsOf = async () => {
    const answer = await fetch(`${monitor}/jsz?acc=$G&consumers=true&config=true`)
    const { account_details = [] } = (await answer.json()) as Told
    const [stream] = account_details.flatMap(({ stream_detail }) =>
      stream_detail.filter(({ name }) => name === wanted.name),
    )
    const found = stream?.consumer_detail.find(({ name }) => name === CONSUMER)
    return found && [found.num_pending, found.num_ack_pending]
  }
  await until('three wait', async () => String(await countsOf()) === '3,0')
  const bus = await connectBus(measured.addressOf('environment-worker'))
  const held: (() => void)[] = []
  const stop = bus.work({ ...wanted, concurrency: 2, ackWaitMs: 60_000 }, async () => {
    await new Promise<void>((resolve) => held.push(resolve))
    return { done: true }
  })
  await until('two are in hand', async () => String(await countsOf()) === '1,2')
  const stopped = stop()
  for (const release of held) release()
  await stopped
  await bus.close()
  await measured.close()
})

test('heads that start at the same moment find ports of their own, also for their monitors', async () => {
  const heads = await Promise.all(
    ['twin-a', 'twin-b', 'twin-c'].map((run) => startTestHead({ root, run, cluster: '127.0.0.1' })),
  )
  const monitors = heads.map(({ broker }) => broker?.monitor)
  assert.is(new Set(monitors).size, 3)
  for (const monitor of monitors) assert.is((await fetch(`${monitor}/healthz`)).status, 200)
  await Promise.all(heads.map((head) => head.close()))
})

test('a monitor has the address that a person chose, and only of a broker that is alone', async () => {
  const port = 30_000 + (process.pid % 10_000)
  const chosen = await startTestHead({
    ...{ root, run: 'monitored', cluster: '127.0.0.1', monitor: `127.0.0.1:${port}` },
  })
  assert.is((await fetch(`http://127.0.0.1:${port}/healthz`)).status, 200)
  await chosen.close()
  const alone = await startTestHead({ root, run: 'unmonitored' })
  assert.is(alone.broker?.monitor, null)
  await alone.close()
  const start = (...words: readonly string[]) =>
    startProcess(['src/main.ts', '--role', 'head', '--dry-run', ...words], {})
  for (const words of [
    ['--monitor', '127.0.0.1:8222'],
    ['--cluster', 'a,b,c', '--monitor', '127.0.0.1:8222'],
    ['--cluster', 'a', '--monitor', '127.0.0.1'],
  ]) {
    const refused = start(...words)
    assert.is(await refused.status, 2, refused.output())
    assert.match(refused.output(), /--monitor/)
  }
})

test('no host joins a run whose broker listens on loopback', async () => {
  const alone = await startTestHead({ root, run: 'alone' })
  const error = await errorOf(command.run(['alone', '--role', 'environment', '-o', file]))
  assert.is(error.code, 'join.no-cluster')
  await alone.close()
  assert.is((await errorOf(command.run(['alone', '--role', 'head']))).code, 'cli.usage')
  assert.is((await errorOf(command.run(['alone', '--role', 'policy', '--ttl', '0d']))).code, 'cli.usage')
  const elsewhere = await errorOf(startTestHead({ root, run: 'far', cluster: '192.0.2.1' }))
  assert.is(elsewhere.code, 'broker.bad-address')
})

test.run()
