import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { runFolder } from '../../src/broker/connection.ts'
import type { LoggedEvent } from '../../src/events/catalogue.ts'
import { openLogReader } from '../../src/events/log-reader.ts'
import { connectBus } from '../../src/events/nats/connect.ts'
import { subscribe } from '../../src/events/subscription.ts'
import { publishAgain } from '../../src/replay/publish.ts'
import { startTestHead, temporaryFolder, until } from '../support/run.ts'
import { copyRun, unpackFixture } from './fixture.ts'

test('an old run can be followed again under another id, in order and without a gap, blobs included', async () => {
  const head = await startTestHead()
  const root = temporaryFolder()
  const run = copyRun(unpackFixture(root), runFolder('large', root), { inBlobs: ['TaskAdded'] })
  const log = openLogReader(run.log)
  const { position } = log.head()
  const [sender, receiver] = [await connectBus(head.address), await connectBus(head.address)]
  const stop = new AbortController()
  const sending = publishAgain(log, sender, {
    run: 'replay-run',
    speed: Infinity,
    stay: true,
    signal: stop.signal,
  })
  const seen: LoggedEvent[] = []
  const subscription = await subscribe({ bus: receiver, run: 'replay-run' }, (event) => void seen.push(event))
  await until('all events seen', () => seen.length === position)
  assert.equal(
    seen.map((event) => event.position),
    Array.from({ length: position }, (_, i) => i + 1),
  )
  assert.ok(seen.every(({ run }) => run === 'replay-run'))
  await subscription.stop()
  stop.abort()
  assert.is(await sending, position)
  log.close()
  for (const bus of [sender, receiver]) await bus.close()
  await head.close()
})

test.run()
