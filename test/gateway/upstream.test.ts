/** The gateway's side of the model's endpoint. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { keyIn, openUpstream } from '../../src/gateway/upstream.ts'
import { ApiError } from '../../src/models/local/server/errors.ts'

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

test.run()
