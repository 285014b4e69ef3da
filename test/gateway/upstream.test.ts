/** The gateway's side of the model's endpoint. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { openUpstream, readAll } from '../../src/gateway/upstream.ts'
import { ApiError } from '../../src/openai-api/errors.ts'
import { keyIn } from '../../src/openai-api/key.ts'
import { startRawEndpoint } from '../support/scripted-endpoint.ts'

test('a key has no white space around it, and one that no header can hold is refused by its variable', () => {
  process.env.RL_TEST_KEY = ' sk-abc\n'
  assert.is(keyIn('RL_TEST_KEY'), 'sk-abc')
  for (const blank of ['', ' \n']) {
    process.env.RL_TEST_KEY = blank
    assert.is(keyIn('RL_TEST_KEY'), null)
  }
  assert.is(keyIn(undefined), null)
  for (const broken of ['sk-\nabc', '\u201csk-abc\u201d']) {
    process.env.RL_TEST_KEY = broken
    assert.throws(
      () => keyIn('RL_TEST_KEY'),
      ({ message }: Error) => message.includes('RL_TEST_KEY') && !message.includes('abc'),
    )
  }
})

test('a call that cannot be worded fails like one that finds no endpoint, and leaves no timer', async () => {
  const timers = () => process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length
  const before = timers()
  const upstream = openUpstream({ key: 'sk-a\n', callMs: 60_000 })
  const target = { baseUrl: 'http://127.0.0.1:9/v1', model: 'scripted' }
  try {
    await upstream.post(target, '/chat/completions', Buffer.from('{}'), new AbortController().signal)
    assert.unreachable()
  } catch (error) {
    assert.instance(error, ApiError)
    assert.is((error as ApiError).status, 502)
    assert.not.match((error as ApiError).message, 'sk-a')
  }
  assert.is(timers(), before)
  upstream.close()
})

test('an answer that breaks in its first packet, or before anybody reads it, ends as broken off', async () => {
  const upstream = openUpstream({ key: null, callMs: 60_000 })
  for (const said of [
    'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{} and more',
    'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n',
    'HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{}',
  ]) {
    const endpoint = await startRawEndpoint(() => said)
    const target = { baseUrl: endpoint.url, model: 'scripted' }
    const { signal } = new AbortController()
    const answer = await upstream.post(target, '/chat/completions', Buffer.from('{}'), signal)
    await endpoint.close()
    try {
      await readAll(answer, 1_000, () => new Error('too long'))
      assert.unreachable()
    } catch (error) {
      assert.match((error as ApiError).message, 'the answer of the model was cut off', said)
      assert.is((error as ApiError).status, 502)
    }
  }
  upstream.close()
})

test.run()
