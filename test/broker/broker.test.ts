import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { readConnection, runFolder } from '../../src/broker/connection.ts'
import { USERS } from '../../src/events/users.ts'
import { isAlive } from '../support/processes.ts'
import { startTestHead, temporaryFolder, until } from '../support/run.ts'

test('the server dies with a head that is killed, and the next head has it again under the same address', async () => {
  const root = temporaryFolder()
  const folder = runFolder('crash', root)
  const child = spawn(process.execPath, ['test/actors/toy-process.ts', 'head', root, '1', '1'], {
    stdio: 'inherit',
  })
  await until('a connection', () => existsSync(folder.connection))
  const before = readConnection(folder.connection)
  const pid = Number(readFileSync(join(folder.broker, 'nats.pid'), 'utf8'))
  assert.ok(isAlive(pid))
  child.kill('SIGKILL')
  await once(child, 'close')
  await until('the server to be gone', () => !isAlive(pid))
  const head = await startTestHead({ run: 'crash', root })
  assert.is(head.address.url, before?.url)
  assert.is(head.addressOf('tool').password, before?.password)
  await head.close()
  assert.not(existsSync(folder.connection))
})

test('the server knows no keys of services that the head has in its environment', async () => {
  process.env.RL_TEST_API_KEY = 'sk-not-for-a-broker'
  const head = await startTestHead()
  Reflect.deleteProperty(process.env, 'RL_TEST_API_KEY')
  const pid = Number(head.broker?.pid())
  if (!existsSync(`/proc/${pid}/environ`)) console.log('SKIP the environment of a process: there is no /proc')
  else {
    const parent = Number(/^PPid:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1])
    for (const one of [pid, parent]) {
      const environment = readFileSync(`/proc/${one}/environ`, 'utf8')
      assert.not(environment.includes('sk-not-for-a-broker'))
      assert.ok(environment.includes('PATH='))
    }
  }
  await head.close()
})

test('passwords stand in files that only their owner reads, and in no command line', async () => {
  const head = await startTestHead()
  for (const path of [head.folder.connection, join(head.folder.broker, 'nats.conf')])
    assert.is(statSync(path).mode & 0o777, 0o600, path)
  const pid = head.broker?.pid()
  if (existsSync(`/proc/${pid}/cmdline`))
    for (const user of USERS)
      assert.not(readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(String(head.addressOf(user).password)))
  const { port } = new URL(head.address.url)
  assert.match(
    readFileSync(join(head.folder.broker, 'nats.conf'), 'utf8'),
    new RegExp(`host: "127.0.0.1"\nport: ${port}`),
  )
  await head.close()
})

test.run()
