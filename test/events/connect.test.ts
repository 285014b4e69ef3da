/** Connecting: a deadline counts the time in which this process could have heard an answer. */
import { createServer, type Socket } from 'node:net'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import type { RlError } from '../../src/errors.ts'
import { connectBus } from '../../src/events/nats/connect.ts'
import { startTestHead } from '../support/run.ts'

function block(ms: number): void {
  const until = performance.now() + ms
  while (performance.now() < until);
}

test('a process that is busy for longer than its deadline connects all the same', async () => {
  const head = await startTestHead()
  for (let turn = 0; turn < 3; turn++) {
    const connecting = connectBus({ ...head.address, timeoutMs: 1_000 })
    // Busy before the greeting, before the answer to the login, and now and then in between.
    for (let n = 0; n < turn; n++) await new Promise((resolve) => setImmediate(resolve))
    block(1_200)
    await new Promise((resolve) => setImmediate(resolve))
    block(1_200)
    const bus = await connecting
    await bus.close()
  }
  await head.close()
})

for (const [name, answer] of [
  ['says nothing', ''],
  ['has waited too long for the login', "-ERR 'Authentication Timeout'\r\n"],
])
  test(`a server that greets and then ${name} is given up at the deadline, and no password is blamed`, async () => {
    const sockets: Socket[] = []
    const server = createServer((socket) => {
      sockets.push(socket.on('error', () => {}))
      socket.write('INFO {"server_id":"x","version":"2.9.0","max_payload":1000,"proto":1,"headers":true}\r\n')
      socket.once('data', () => socket.write(answer))
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as { port: number }
    const code = await connectBus({ url: `nats://127.0.0.1:${port}`, timeoutMs: 300 }).then(
      () => 'connected',
      (error: RlError) => error.code,
    )
    assert.is(code, 'bus.unreachable')
    for (const socket of sockets) socket.destroy()
    await new Promise((resolve) => server.close(resolve))
  })

test('of a list of servers one that answers is enough', async () => {
  const head = await startTestHead()
  const dead = 'nats://127.0.0.1:9'
  const bus = await connectBus({ ...head.address, url: `${dead}, ${head.address.url}` })
  await bus.flush()
  await bus.close()
  const refused = async (url: string) =>
    connectBus({ url, timeoutMs: 2_000 }).then(
      () => 'connected',
      (error: RlError) => error.code,
    )
  assert.is(await refused(`${dead},nats://127.0.0.1:10`), 'bus.unreachable')
  assert.is(await refused(`${dead},tls://127.0.0.1:10`), 'bus.bad-url')
  assert.is(await refused(`${dead},`), 'bus.bad-url')
  await head.close()
})

test.run()
