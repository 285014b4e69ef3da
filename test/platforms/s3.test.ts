/** The store of S3's kind against a real server, and what it says of each fault. */
import { createHash, randomBytes } from 'node:crypto'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { AwsClient } from 'aws4fetch'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { redact } from '../../src/actors/runtime/redact.ts'
import { openS3 } from '../../src/platform/s3.ts'
import { errorOf } from '../support/error-of.ts'
import { noS3, startS3 } from '../support/s3-server.ts'

const KEYS = { AWS_ACCESS_KEY_ID: 'AKIDEXAMPLE0001', AWS_SECRET_ACCESS_KEY: 'secret-of-the-store-1' }

test('an address that is none, and an environment without keys, are errors that name what to set', async () => {
  for (const address of ['s3://', 's3://UPPER', 'http://bucket', 's3://bucket/../other', 's3://b c/x'])
    assert.is((await errorOf(openS3(address, { env: KEYS }))).code, 'store.bad-url', address)
  const none = await errorOf(openS3('s3://bucket', { env: { AWS_ACCESS_KEY_ID: 'AKIDEXAMPLE0001' } }))
  assert.is(none.code, 'store.no-credentials')
  assert.not.match(none.message, 'AKID')
  const withUser = { ...KEYS, AWS_ENDPOINT_URL: 'http://name:word@127.0.0.1:1' }
  const bad = await errorOf(openS3('s3://bucket', { env: withUser }))
  assert.is(bad.code, 'store.bad-url')
  assert.not.match(bad.message, 'word')
})

test('a store that nobody serves is an error within its deadline', async () => {
  const env = { ...KEYS, AWS_ENDPOINT_URL: 'http://127.0.0.1:9' }
  const store = await openS3('s3://bucket/runs', { env, deadlineMs: 300 })
  const error = await errorOf(store.putBlob(Uint8Array.of(1)))
  assert.is(error.code, 'store.unreachable')
  assert.match(error.message, '127.0.0.1:9')
  for (const key of Object.values(KEYS)) assert.not.match(`${error.message}${error.hint}`, key)
  store.close()
})

test('the keys of a store are in no text that is told', () => {
  Object.assign(process.env, KEYS)
  assert.is(redact(`of ${KEYS.AWS_ACCESS_KEY_ID} and ${KEYS.AWS_SECRET_ACCESS_KEY}`), 'of *** and ***')
  for (const name of Object.keys(KEYS)) delete process.env[name]
})

/** Passes connections on to a server. While it is shut, it cuts each of them. */
async function relayTo(url: string): Promise<{ url: string; shut: boolean; cuts: number; server: Server }> {
  const { hostname, port } = new URL(url)
  const sockets = new Set<Socket>()
  const relay = { url: '', shut: false, cuts: 0, server: createServer() }
  relay.server.on('connection', (socket) => {
    socket.on('error', () => {})
    if (relay.shut) {
      relay.cuts++
      return socket.destroy()
    }
    const on = connect(Number(port), hostname).on('error', () => {})
    sockets.add(socket)
    socket.pipe(on).pipe(socket)
  })
  await new Promise<void>((resolve) => relay.server.listen(0, '127.0.0.1', resolve))
  const address = relay.server.address()
  relay.url = `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`
  return relay
}

const skip = noS3()
if (skip !== null) process.stdout.write(`SKIP the store against a server: ${skip}\n`)
else {
  test('bytes come back as they were put, large ones and none', async () => {
    const server = await startS3('bucket')
    const store = await openS3('s3://bucket/runs/a', { env: { ...KEYS, AWS_ENDPOINT_URL: server.url } })
    for (const bytes of [new Uint8Array(), Uint8Array.of(0, 255), randomBytes(33 * 1024 * 1024)]) {
      const ref = await store.putBlob(bytes)
      assert.is(ref.sha256, createHash('sha256').update(bytes).digest('hex'))
      assert.is(Buffer.compare(await store.getBlob(ref), bytes), 0)
    }
    store.close()

    const missing = await errorOf(store.getBlob({ sha256: 'a'.repeat(64), bytes: 1 }))
    assert.is(missing.code, 'store.missing')
    assert.match(missing.message, /NoSuchKey/)
    const nowhere = await openS3('s3://no-such-bucket', { env: { ...KEYS, AWS_ENDPOINT_URL: server.url } })
    const noBucket = await errorOf(nowhere.putBlob(Uint8Array.of(1)))
    assert.is(noBucket.code, 'store.missing')
    assert.match(noBucket.message, /NoSuchBucket/)
    nowhere.close()
    await server.stop()
  })

  test('other bytes under a digest are refused: changed, cut, or too many', async () => {
    const server = await startS3('bucket')
    const store = await openS3('s3://bucket', { env: { ...KEYS, AWS_ENDPOINT_URL: server.url } })
    const ref = await store.putBlob(Buffer.from('weights'))
    const { AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey } = KEYS
    const client = new AwsClient({ accessKeyId, secretAccessKey, service: 's3', region: 'us-east-1' })
    for (const other of ['Weights', 'weight', 'weights and more', '']) {
      const put = await client.fetch(`${server.url}/bucket/${ref.sha256}`, { method: 'PUT', body: other })
      assert.is(put.status, 200, await put.text())
      assert.is((await errorOf(store.getBlob(ref))).code, 'store.corrupt', other)
    }
    store.close()
    await server.stop()
  })

  test('a key that the store does not know is refused at once, and stands in no error', async () => {
    const server = await startS3('bucket', { INITIAL_NO_AUTH_ACTION_COUNT: '0' })
    const store = await openS3('s3://bucket', { env: { ...KEYS, AWS_ENDPOINT_URL: server.url } })
    const lost = { sha256: 'a'.repeat(64), bytes: 1 }
    for (const call of [() => store.putBlob(Uint8Array.of(1)), () => store.getBlob(lost)]) {
      const error = await errorOf(call() as Promise<unknown>)
      assert.is(error.code, 'store.refused')
      assert.match(error.message, /status 403/)
      for (const key of Object.values(KEYS)) assert.not.match(`${error.message}${error.hint}`, key)
    }
    store.close()
    await server.stop()
  })

  test('a store that is away for a while is waited for', async () => {
    const server = await startS3('bucket')
    const relay = await relayTo(server.url)
    const store = await openS3('s3://bucket', { env: { ...KEYS, AWS_ENDPOINT_URL: relay.url } })
    relay.shut = true
    const put = store.putBlob(Buffer.from('late'))
    while (relay.cuts < 2) await new Promise((resolve) => setImmediate(resolve))
    relay.shut = false
    const ref = await put
    assert.is(Buffer.from(await store.getBlob(ref)).toString(), 'late')
    store.close()
    relay.server.close()
    await server.stop()
  })
}

test.run()
