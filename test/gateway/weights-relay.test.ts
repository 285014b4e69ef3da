/** What a relay gives a server: the weights that a caller names, whatever else has the same name. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { shareFolder } from '../../src/actors/learner/shared-files.ts'
import type { NewEvent } from '../../src/events/catalogue.ts'
import { connectLog } from '../../src/events/log-client.ts'
import { connectBus } from '../../src/events/nats/connect.ts'
import { weightsRelay } from '../../src/gateway/weights-relay.ts'
import { startTestHead, temporaryFolder } from '../support/run.ts'
import { runStarted } from '../support/toy.ts'

const head = await startTestHead()
const bus = await connectBus(head.addressOf('policy'))
const log = connectLog({ bus, run: 'test', actor: 'policy' })
/** Each file `weights` that the server was told to load. */
const seen: string[] = []
const server = createServer((request, response) => {
  const chunks: Buffer[] = []
  request.on('data', (chunk) => chunks.push(chunk))
  request.on('end', () => {
    if (request.method === 'POST') {
      const body = JSON.parse(Buffer.concat(chunks).toString())
      const folder = body.lora_path ?? body.model_path
      if (folder !== undefined) seen.push(readFileSync(join(folder, 'weights'), 'utf8'))
    }
    response.end('{}')
  })
})
await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
const app = weightsRelay({
  ...{ log, folder: temporaryFolder(), say: () => {} },
  server: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
})
const post = async (path: string, body: unknown) =>
  (await app.request(path, { method: 'POST', body: JSON.stringify(body) })).status
const lora = (lora_name: string, version: number) =>
  post('/v1/load_lora_adapter', { lora_name, lora_path: `/a/checkpoints/policy/0000${version}` })
const whole = (version: number) =>
  post('/update_weights_from_disk', { model_path: `/a/checkpoints/policy/0000${version}` })

test.before(async () => {
  const events: NewEvent[] = [runStarted]
  for (const version of [0, 1, 2, 3]) {
    const folder = join(temporaryFolder(), 'made')
    mkdirSync(folder)
    writeFileSync(join(folder, 'weights'), `of ${version}`)
    const sha256 = String(version).repeat(64)
    const files = await shareFolder(log, folder)
    const checkpoint = { sha256, path: `checkpoints/policy/0000${version}` }
    const made = { iteration: version, version, parentVersion: version === 0 ? null : version - 1 }
    const rest = { trainedOn: [], samples: 1, metrics: {}, stopped: null, timing: {} }
    events.push(
      { type: 'CheckpointShared', data: { role: 'policy', version, sha256, files } },
      { type: 'PolicyUpdated', data: { ...made, checkpoint, ...rest } },
    )
  }
  head.service.append(events)
})

test.after(async () => {
  server.close()
  log.close()
  await bus.close()
  await head.close()
})

test('a name that comes again with another version brings that version', async () => {
  assert.equal(await Promise.all([lora('mine', 1), lora('mine', 2)]), [200, 200])
  assert.equal(seen.splice(0).sort(), ['of 1', 'of 2'])
  assert.is(await lora('mine', 3), 200)
  assert.equal(seen.splice(0), ['of 3'])
})

test('a name of an adapter is no whole model', async () => {
  assert.is(await lora('whole-policy-00001', 2), 200)
  assert.is(await whole(1), 200)
  for (const version of [2, 3, 1]) assert.is(await whole(version), 200)
  assert.equal(seen.splice(0), ['of 2', 'of 1', 'of 2', 'of 3', 'of 1'])
  assert.is(await lora('.whole', 1), 400)
})

test.run()
