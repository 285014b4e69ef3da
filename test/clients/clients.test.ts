/**
 * Clients of other makers against `rl serve` and the gateway; docs/endpoints.md has the same as a table. Those for Python run where
 * RL_TEST_PYTHON (else python3) has test/clients/requirements.txt.
 */
import { spawn, spawnSync } from 'node:child_process'
import OpenAI from 'openai'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { runFolder } from '../../src/broker/connection.ts'
import type { EventData } from '../../src/events/catalogue.ts'
import { openLogReader } from '../../src/events/log-reader.ts'
import { type Rollout, startGatewayOnModel } from '../support/gateway-on-model.ts'
import { temporaryFolder } from '../support/run.ts'

const python = process.env.RL_TEST_PYTHON ?? 'python3'
const root = temporaryFolder()
process.env.RL_RUNS = root

let stack: Awaited<ReturnType<typeof startGatewayOnModel>>
let rollout: Rollout
let client: OpenAI

test.before(async () => {
  stack = await startGatewayOnModel('clients')
  rollout = await stack.take('node')
  client = new OpenAI({ baseURL: rollout.url, apiKey: rollout.key, maxRetries: 0 })
})

test.after(() => stack.close())

const CALL = '<tool_call>\n{"name": "add", "arguments": {"a": 1}}\n</tool_call>'
const PARAMETERS = { type: 'object', properties: {} }

async function refusal(promise: PromiseLike<unknown>) {
  try {
    await promise
  } catch (error) {
    if (error instanceof OpenAI.APIError) return [error.status, error.param] as const
    throw error
  }
  throw new Error('it was not refused')
}

async function ended(id: Rollout): Promise<EventData<'TrajectoryCompleted'>> {
  await fetch(id.outcome_url, {
    method: 'POST',
    headers: { authorization: `Bearer ${id.key}` },
    body: '{"success": true}',
  })
  const log = openLogReader(runFolder('clients', root).log)
  try {
    const all = [...log.events({ types: ['TrajectoryCompleted'] })]
    return all.find(({ data }) => 'rollout' in data && data.rollout === id.rollout)!
      .data as EventData<'TrajectoryCompleted'>
  } finally {
    log.close()
  }
}

test("OpenAI's client for Node speaks responses, whole and streamed, with tools and their outputs", async () => {
  const ask = { model: 'tiny', input: 'hi', instructions: 'be brief', max_output_tokens: 8 }
  const whole = await client.responses.create(ask)
  assert.is(whole.object, 'response')
  assert.is(typeof whole.output_text, 'string')
  assert.is((whole.usage?.total_tokens ?? 0) > 0, true)
  const types: string[] = []
  let text = ''
  for await (const event of await client.responses.create({ ...ask, stream: true })) {
    types.push(event.type)
    if (event.type === 'response.output_text.delta') text += event.delta
    if (event.type === 'response.completed' || event.type === 'response.incomplete')
      assert.is(event.response.output_text ?? text, text)
  }
  assert.is(types[0], 'response.created')
  assert.match(types.at(-1) ?? '', /^response\.(completed|incomplete)$/)
  const unknown = { ...ask, previous_response_id: 'resp_1' }
  assert.equal(await refusal(client.responses.create(unknown)), [400, 'previous_response_id'])
  assert.equal(await refusal(client.responses.create({ ...ask, tools: [{ type: 'web_search' }] })), [
    400,
    'tools.0.type',
  ])
  const next = await client.responses.create({
    ...{ model: 'tiny', max_output_tokens: 4 },
    tools: [{ type: 'function', name: 'add', parameters: PARAMETERS, strict: false }],
    input: [
      { role: 'user', content: 'add' },
      { type: 'function_call', call_id: 'c1', name: 'add', arguments: '{"a":1}' },
      { type: 'function_call_output', call_id: 'c1', output: '2' },
    ],
  })
  assert.is(next.output[0].type, 'message')
})

test("OpenAI's client for Node speaks chat and completions, whole and streamed", async () => {
  const chat = { model: 'tiny', messages: [{ role: 'user' as const, content: 'hi' }], max_tokens: 8, seed: 1 }
  const whole = await client.chat.completions.create(chat)
  const streamed = await client.chat.completions.stream(chat).finalContent()
  assert.is(streamed ?? '', whole.choices[0].message.content)
  const tools = [{ type: 'function' as const, function: { name: 'add', parameters: PARAMETERS } }]
  const guided = { ...chat, max_tokens: 200, tools, guided_choice: [CALL] }
  const [call] = (await client.chat.completions.create(guided)).choices[0].message.tool_calls ?? []
  assert.is(call.type === 'function' && call.function.name, 'add')
  const text = { model: 'tiny', prompt: 'hi', max_tokens: 8, seed: 1 }
  const completed = await client.completions.create(text)
  let pieces = ''
  for await (const chunk of await client.completions.create({ ...text, stream: true }))
    pieces += chunk.choices[0]?.text ?? ''
  assert.is(pieces, completed.choices[0].text)
  assert.equal(await refusal(client.completions.create({ ...text, n: 2 })), [400, 'n'])
  assert.equal(await refusal(client.chat.completions.create({ ...chat, model: 'gpt-9' })), [404, 'model'])
})

test('every call of every API is a step that can be trained on', async () => {
  const data = await ended(rollout)
  assert.is(data.steps, 8)
  assert.is(data.trainable, true)
  assert.is(data.actions[6], data.actions[7], 'the same seed, whole and streamed')
  assert.is(data.observations[0], 'system: be brief\nuser: hi')
})

test('openai, litellm and anthropic for Python do what the table says', async () => {
  if (spawnSync(python, ['-c', 'import openai, litellm, anthropic']).status !== 0) {
    console.log(
      'SKIP clients for Python: openai, litellm or anthropic is missing (RL_TEST_PYTHON names another)',
    )
    return
  }
  const other = await stack.take('python')
  const child = spawn(python, ['test/clients/clients.py'], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: {
      ...process.env,
      ...{
        SERVE: stack.server.url,
        SERVE_KEY: stack.server.token,
        GATEWAY: other.url,
        GATEWAY_KEY: other.key,
      },
      ...{ LITELLM_LOCAL_MODEL_COST_MAP: 'True', NO_PROXY: '127.0.0.1' },
    },
  })
  let output = ''
  child.stdout.on('data', (chunk) => {
    output += chunk
  })
  assert.is(await new Promise((resolve) => child.once('close', resolve)), 0)
  const results = JSON.parse(output.slice(output.indexOf('{')))
  const both = (where: string, n: number | string) => ({
    [`openai ${where} chat`]: true,
    [`openai ${where} stream`]: true,
    [`openai ${where} logprobs`]: true,
    [`openai ${where} tools`]: 'add {"a":1}',
    [`openai ${where} json_schema`]: true,
    [`openai ${where} n`]: n,
    [`openai ${where} penalties`]: 'refused: 400',
    [`openai ${where} other model`]: 'refused: 404',
    [`openai ${where} completions`]: true,
    [`openai ${where} models`]: 'tiny',
    [`litellm ${where} chat`]: true,
    [`litellm ${where} stream`]: true,
    [`litellm ${where} tools`]: 'add {"a":1}',
  })
  assert.equal(results, {
    ...both('serve', 2),
    'openai serve responses': 'refused: 404',
    'openai serve responses stream': 'refused: 404',
    'anthropic serve messages': 'refused: 404',
    'anthropic serve stream': 'refused: 404',
    'anthropic serve thinking': 'refused: 404',
    'anthropic serve other model': 'refused: 404',
    ...both('gateway', 'refused: 400'),
    'openai gateway responses': true,
    'openai gateway responses stream': 'response',
    'anthropic gateway messages': 'message',
    'anthropic gateway stream': 'assistant',
    'anthropic gateway thinking': 'refused: 400',
    'anthropic gateway other model': 'refused: 404',
  })
  assert.is((await ended(other)).trainable, true)
})

test.run()
