/** Servers of others that keep no queues: what they lack is said by its name, with what helps. */
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { findNatsServer } from '../../src/broker/find.ts'
import { explain } from '../../src/errors.ts'
import { spawnGuarded } from '../../src/platform/processes.ts'
import { startTestHead, temporaryFolder, until } from '../support/run.ts'

/** What a head says at a server with these lines in its config. */
async function refusal(lines: string, login: object = {}): Promise<string> {
  const folder = temporaryFolder()
  const [config, log] = [join(folder, 'nats.conf'), join(folder, 'nats.log')]
  writeFileSync(config, `host: "127.0.0.1"\nport: -1\nlog_file: "${log}"\n${lines}\n`)
  const { path } = await findNatsServer()
  const guard = spawnGuarded(path, ['-c', config])
  const port = () => {
    try {
      return /Listening for client connections on 127\.0\.0\.1:(\d+)/.exec(readFileSync(log, 'utf8'))?.[1]
    } catch {
      return undefined
    }
  }
  try {
    await until('the server listens', () => port() !== undefined)
    const head = await startTestHead({ nats: { url: `nats://127.0.0.1:${port()}`, ...login } })
    await head.close()
    return 'the head took it'
  } catch (error) {
    return explain(error)
  } finally {
    const ended = once(guard, 'exit')
    guard.stdin?.end()
    await ended
  }
}

test('a server that was started without JetStream', async () => {
  const said = await refusal('')
  assert.match(said, /nats:\/\/127\.0\.0\.1:\d+ has no JetStream/)
  assert.match(said, /-js/)
  assert.not.match(said, /\$JS|rl status/)
})

test('an account without JetStream on a server that has it', async () => {
  const store = temporaryFolder()
  const said = await refusal(
    `jetstream { store_dir: "${store}" }\naccounts { A { users: [{ user: a, password: b }] } }`,
    { user: 'a', password: 'b' },
  )
  assert.match(said, /JetStream/)
  assert.match(said, /give the account JetStream/)
})

test.run()
