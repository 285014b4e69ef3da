/** A cluster of three brokers, one of the head and two of other hosts by their files. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { joinedAddress } from '../../src/actors/joined.ts'
import { readJoinFile } from '../../src/broker/joins.ts'
import { membersOf, readMemberFile } from '../../src/broker/members.ts'
import { command } from '../../src/cli/join.ts'
import type { RlError } from '../../src/errors.ts'
import { connectLog } from '../../src/events/log-client.ts'
import { connectBus } from '../../src/events/nats/connect.ts'
import { startProcess } from '../support/processes.ts'
import { startTestHead, temporaryFolder, until } from '../support/run.ts'
import { runStarted } from '../support/toy.ts'

test('one address, or an odd number of different ones', () => {
  assert.equal(membersOf('10.0.0.1'), [{ host: '10.0.0.1', port: 4222 }])
  assert.equal(
    membersOf('a,b:4333,c').map(({ host, port }) => `${host}:${port}`),
    ['a:4222', 'b:4333', 'c:4222'],
  )
  for (const wrong of ['a,b', 'a,a,b', 'a,,b', 'a,b:0,c', 'a,b:99999,c', 'a b,c,d'])
    assert.throws(
      () => membersOf(wrong),
      (error: RlError) => error.code === 'cli.usage',
    )
})

test('a file that is none, or a damaged one', async () => {
  const path = join(temporaryFolder(), 'b.broker')
  assert.is(await readMemberFile(path), null)
  writeFileSync(path, '{"v": 1, "role": "environment"}')
  assert.is(await readMemberFile(path), null)
  writeFileSync(path, '{"v": 1, "kind": "broker", "run": "r"}')
  assert.is((await readMemberFile(path).catch((error) => error)).code, 'join.bad-file')
})

// Only Linux has all of 127.0.0.0/8.
const onLinux = process.platform === 'linux' ? test : test.skip

onLinux('three brokers keep the log, and a host that joins reaches each of them', async () => {
  const run = 'three'
  const root = temporaryFolder()
  process.env.RL_RUNS = root
  const port = 20_000 + Math.floor(Math.random() * 20_000)
  const hosts = ['127.0.0.1', '127.0.0.2', '127.0.0.3']
  const said: string[] = []
  const starting = startTestHead({
    ...{ run, root, replicas: 3, cluster: hosts.map((host) => `${host}:${port}`).join(',') },
    onBrokerRestart: (line) => void said.push(line),
  })
  const files = hosts.slice(1).map((host) => join(root, run, `${host}.broker`))
  await until('the files are there', () => files.every(existsSync))
  const members = files.map((path) => {
    const runs = temporaryFolder()
    return startProcess(['src/main.ts', '--join', path], { RL_RUNS: runs })
  })
  const head = await starting
  assert.match(said.join('\n'), /127\.0\.0\.2: npm start -- --join .*127\.0\.0\.2\.broker/)
  head.service.append([runStarted])
  const path = join(temporaryFolder(), 'env.join')
  assert.is(await command.run([run, '--role', 'environment', '-o', path]), 0)
  const file = await readJoinFile(path)
  assert.equal(
    file.servers,
    hosts.map((host) => `tls://${host}:${port}`),
  )
  for (const server of file.servers)
    await until(`${server} lets the host in`, async () => {
      try {
        const bus = await connectBus({ ...joinedAddress({ ...file, servers: [server] }), timeoutMs: 5_000 })
        const { position } = await connectLog({ bus, run, actor: 'environment' }).head()
        await bus.close()
        return position === 1
      } catch {
        return false
      }
    })
  const headPath = join(temporaryFolder(), 'head.join')
  assert.is(await command.run([run, '--role', 'head', '-o', headPath]), 0)
  const { keys } = await readJoinFile(headPath)
  assert.is(Object.keys(keys ?? {}).length, 10)
  const joins = readFileSync(join(root, run, 'broker', 'joins.json'), 'utf8')
  for (const secret of Object.values(keys ?? {})) assert.not.match(joins, secret ?? '-')
  await head.close()
  for (const { process: member, status } of members) {
    member.kill('SIGTERM')
    assert.is(await status, 0)
  }
})

test.run()
