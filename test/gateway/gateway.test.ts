/** The gateway with a run of its own, before an endpoint that answers as it is told. */
import { once } from 'node:events'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { request, type ServerResponse } from 'node:http'
import { join } from 'node:path'
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from 'node:zlib'
import OpenAI from 'openai'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { startHeadCore } from '../../src/actors/head/head-core.ts'
import { runFolder } from '../../src/broker/connection.ts'
import { openBlobStore } from '../../src/events/blobs.ts'
import type { EventType, LoggedEvent } from '../../src/events/catalogue.ts'
import { readFloat32, readInt32 } from '../../src/events/columns.ts'
import { openLogReader } from '../../src/events/log-reader.ts'
import { startsOf } from '../../src/events/starts.ts'
import { type Gateway, type RecordOptions, recordRun } from '../../src/gateway/start.ts'
import { temporaryFolder, until } from '../support/run.ts'
import {
  type Asked,
  completion,
  completionEvents,
  type ScriptedEndpoint,
  startRawEndpoint,
  startScriptedEndpoint,
} from '../support/scripted-endpoint.ts'

const root = temporaryFolder()
process.env.RL_RUNS = root
process.env.RL_TEST_UPSTREAM_WORD = 'upstream-word-123456'

let answer: (asked: Asked, response: ServerResponse, index: number) => unknown = () => undefined
let endpoint: ScriptedEndpoint
let gateway: Gateway
const told: string[] = []

type Taken = {
  readonly rollout: string
  readonly url: string
  readonly outcome_url: string
  readonly key: string
  readonly model: string
}

function record(run: string, more: Partial<RecordOptions> = {}): Promise<Gateway> {
  const target = { baseUrl: endpoint.url, model: 'scripted' }
  return recordRun({ run, target, deadlineSeconds: 300, callSeconds: 60, maxRolloutCalls: 6, ...more })
}

test.before(async () => {
  endpoint = await startScriptedEndpoint((asked, response, index) => answer(asked, response, index))
  gateway = await record('agents', {
    keyEnv: 'RL_TEST_UPSTREAM_WORD',
    say: (line: string) => void told.push(line),
  })
})

test.after(async () => {
  await gateway.close()
  await endpoint.close()
})

function post(url: string, key: string, body: unknown): Promise<Response> {
  return fetch(url, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  })
}

async function take(id: string, { url, token } = gateway.server): Promise<Taken> {
  const answered = await post(`${url}/rollouts`, token, { agent: 'test', task: { id, goal: `do ${id}` } })
  assert.is(answered.status, 201)
  return (await answered.json()) as Taken
}

const clientOf = ({ url, key }: Taken) => new OpenAI({ baseURL: url, apiKey: key, maxRetries: 0 })
const keys: string[] = []

function eventsOf<T extends EventType>(rollout: string, type: T, run = 'agents'): LoggedEvent<T>[] {
  const log = openLogReader(runFolder(run, root).log)
  try {
    return ([...log.events({ types: [type] })] as LoggedEvent<T>[]).filter(
      ({ data }) => (data as { rollout: string }).rollout === rollout,
    )
  } finally {
    log.close()
  }
}

const TOOLS: OpenAI.ChatCompletionTool[] = [
  { type: 'function', function: { name: 'look', parameters: { type: 'object', properties: {} } } },
]
const LOOK = {
  content: null,
  tool_calls: [{ id: 'call-1', type: 'function', function: { name: 'look', arguments: '{"at":"box"}' } }],
}

for (const stream of [false, true])
  test(`calls become the steps of a trajectory, ${stream ? 'streamed' : 'whole'}`, async () => {
    const wholes = [
      completion(LOOK, { prompt: [1, 2, 3], tokens: [4, 5] }),
      completion({ content: 'a cat' }, { prompt: [1, 2, 3, 4, 5, 6], tokens: [7] }),
      completion({ content: 'done' }, { prompt: [9, 9], tokens: [8] }),
    ]
    let call = 0
    answer = (_, response) => {
      const whole = wholes[call++]
      if (!stream) return whole
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      for (const event of completionEvents(whole)) response.write(event)
      response.end()
      return undefined
    }
    const taken = await take(`tools-${stream}`)
    keys.push(taken.key)
    const client = clientOf(taken)
    const messages: OpenAI.ChatCompletionMessageParam[] = [
      { role: 'system', content: 'be brief' },
      { role: 'user', content: 'what is in the box?' },
    ]
    const ask = async () => {
      const body = { model: 'scripted', messages, tools: TOOLS }
      if (!stream) return (await client.chat.completions.create(body)).choices[0].message
      return (await client.chat.completions.stream(body).finalChatCompletion()).choices[0].message
    }
    const first = await ask()
    assert.is(
      first.tool_calls?.[0].type === 'function' && first.tool_calls[0].function.arguments,
      '{"at":"box"}',
    )
    messages.push(first, { role: 'tool', tool_call_id: 'call-1', content: 'a cat sleeps' })
    assert.is((await ask()).content, 'a cat')
    messages.splice(0, messages.length, { role: 'user', content: 'anything else?' })
    await ask()
    const asked = endpoint.asked.slice(-3)
    assert.equal(
      asked.map(({ body }) => [body.model, body.return_token_ids, body.logprobs]),
      Array.from({ length: 3 }, () => ['scripted', true, true]),
    )
    assert.is(asked[0].authorization, 'Bearer upstream-word-123456')
    assert.equal(asked[0].body.tools, TOOLS)

    const told = { success: true, observation: 'the box is shut' }
    const ended = await post(taken.outcome_url, taken.key, told)
    assert.equal(await ended.json(), { rollout: taken.rollout, ended: 'scored', steps: 3 })
    const [{ data }] = eventsOf(taken.rollout, 'TrajectoryCompleted')
    assert.equal(data.outcome, { kind: 'scored', value: 1, success: true })
    assert.equal(data.observations, [
      'system: be brief\nuser: what is in the box?',
      'a cat sleeps',
      'anything else?',
      'the box is shut',
    ])
    assert.equal(data.actions, [
      '<tool_call>{"name":"look","arguments":"{\\"at\\":\\"box\\"}"}</tool_call>',
      'a cat',
      'done',
    ])
    assert.is(data.trainable, true)
    // The second prompt goes on where the first answer ended, the third does not.
    assert.equal(
      data.segments.map(({ firstStep, tokensI32, maskU8, stepStartI32, logprobsF32 }) => ({
        firstStep,
        tokens: [...readInt32(tokensI32)],
        mask: [...maskU8],
        starts: [...readInt32(stepStartI32)],
        logprobs: [...readFloat32(logprobsF32)],
      })),
      [
        {
          firstStep: 0,
          tokens: [1, 2, 3, 4, 5, 6, 7],
          mask: [0, 0, 0, 1, 1, 0, 1],
          starts: [3, 6],
          logprobs: [0, 0, 0, -0.5, -0.625, 0, -0.875],
        },
        { firstStep: 2, tokens: [9, 9, 8], mask: [0, 0, 1], starts: [2], logprobs: [0, 0, -1] },
      ],
    )
    const [{ data: recorded }] = eventsOf(taken.rollout, 'CallsRecorded')
    assert.equal(
      recorded.calls.map(({ kept, messages: text, tools }) => [
        kept,
        JSON.parse(text).length,
        tools !== null,
      ]),
      [
        [0, 2, true],
        [2, 2, false],
        [0, 1, false],
      ],
    )
    assert.is(JSON.parse(recorded.calls[0].answer).tool_calls[0].function.name, 'look')
  })

test('images of an agent reach the model as they are, and become blobs that the recorded calls name', async () => {
  answer = () => completion({ content: 'a cat' }, { prompt: [1, 2, 3], tokens: [7] })
  const taken = await take('pictures')
  const file = Buffer.from('a picture, as far as a gateway can tell')
  const url = `data:image/png;base64,${file.toString('base64')}`
  const content: OpenAI.ChatCompletionContentPart[] = [
    { type: 'text', text: 'what is it?' },
    { type: 'image_url', image_url: { url } },
  ]
  await clientOf(taken).chat.completions.create({
    model: 'scripted',
    messages: [{ role: 'user', content }],
  })
  assert.equal(endpoint.asked.at(-1)?.body.messages, [{ role: 'user', content }])
  await post(taken.outcome_url, taken.key, { success: true })
  const [{ data }] = eventsOf(taken.rollout, 'TrajectoryCompleted')
  assert.is(data.trainable, false)
  assert.equal(data.observations[0], 'what is it?[image_url]')
  const [{ data: recorded }] = eventsOf(taken.rollout, 'CallsRecorded')
  const [{ content: kept }] = JSON.parse(recorded.calls[0].messages)
  const [, sha256] = /^blob:([0-9a-f]{64});image\/png$/.exec(kept[1].image_url.url) ?? []
  const blobs = openBlobStore(runFolder('agents', root).blobs)
  assert.equal(Buffer.from(blobs.get({ sha256, bytes: file.length })), file)
})

test('an agent that writes down that it wants no log-probs is trainable all the same', async () => {
  answer = () => completion({ content: 'one' }, { prompt: [1], tokens: [2] })
  const taken = await take('wants-none')
  const body = { model: 'scripted', messages: [{ role: 'user', content: 'hello' }] }
  await post(`${taken.url}/chat/completions`, taken.key, {
    ...body,
    logprobs: false,
    return_token_ids: false,
  })
  const { logprobs, return_token_ids } = endpoint.asked.at(-1)?.body ?? {}
  assert.equal([logprobs, return_token_ids], [true, true])
  await post(taken.outcome_url, taken.key, { success: true })
  const [{ data }] = eventsOf(taken.rollout, 'TrajectoryCompleted')
  assert.ok(data.trainable)
})

test('calls that leave sampling to the endpoint are counted, and told once', async () => {
  answer = () => completion({ content: 'one' }, { prompt: [1], tokens: [2] })
  const taken = await take('leaves-it')
  const counted = () => gateway.counters()['sampling left to the endpoint'] ?? 0
  const before = counted()
  const body = { model: 'scripted', messages: [{ role: 'user', content: 'hello' }] }
  const neutral = { top_p: 1, top_k: -1, min_p: 0, repetition_penalty: 1 }
  for (const more of [neutral, {}, { ...neutral, top_k: null }])
    await post(`${taken.url}/chat/completions`, taken.key, { ...body, ...more })
  assert.is(counted() - before, 2)
  assert.is(told.filter((line) => line.includes('to the endpoint')).length, 1)
  await post(taken.outcome_url, taken.key, { success: true })
})

test('an endpoint without token ids gives a trajectory that is not trainable', async () => {
  answer = (asked, response) => {
    if ('return_token_ids' in asked.body) {
      response.writeHead(400).end('{"error":{"message":"unknown field return_token_ids"}}')
      return undefined
    }
    return { choices: [{ message: { role: 'assistant', content: 'hi' }, finish_reason: 'stop' }] }
  }
  const taken = await take('plain')
  const said = await clientOf(taken).chat.completions.create({
    model: 'scripted',
    messages: [{ role: 'user', content: 'hello' }],
  })
  assert.is(said.choices[0].message.content, 'hi')
  await post(taken.outcome_url, taken.key, { score: 0.5 })
  const [{ data }] = eventsOf(taken.rollout, 'TrajectoryCompleted')
  assert.is(data.trainable, false)
  assert.equal(data.segments, [])
  assert.equal(data.outcome, { kind: 'scored', value: 0.5, success: false })
})

test('messages tell the stop text that ended an answer, whole and in events', async () => {
  const plain = completion({ content: 'one' }, { prompt: [1], tokens: [2] }) as { choices: object[] }
  const choices = plain.choices.map((choice) => ({ ...choice, finish_reason: 'stop', stop_reason: '###' }))
  answer = () => ({ ...plain, choices })
  const taken = await take('stops')
  const body = {
    ...{ model: 'scripted', max_tokens: 5, stop_sequences: ['###'] },
    messages: [{ role: 'user', content: 'count' }],
  }
  const whole = (await (await post(`${taken.url}/messages`, taken.key, body)).json()) as object
  assert.equal(endpoint.asked.at(-1)?.body.stop, ['###'])
  const { stop_reason, stop_sequence } = whole as { stop_reason: string; stop_sequence: string }
  assert.equal([stop_reason, stop_sequence], ['stop_sequence', '###'])
  const events = await (await post(`${taken.url}/messages`, taken.key, { ...body, stream: true })).text()
  assert.match(events, '"delta":{"stop_reason":"stop_sequence","stop_sequence":"###"}')
  assert.match(events, '"stop_reason":null,"stop_sequence":null')
})

test('what a response is to include and has not is refused by name', async () => {
  answer = () => completion({ content: 'one' }, { prompt: [1], tokens: [2] })
  const taken = await take('includes')
  const ask = (include: string) =>
    post(`${taken.url}/responses`, taken.key, { model: 'scripted', input: 'count', include: [include] })
  const refused = await ask('message.output_text.logprobs')
  assert.is(refused.status, 400)
  assert.match(await refused.text(), 'include.0')
  assert.is((await ask('reasoning.encrypted_content')).status, 200)
})

test('what no chat has is refused by the name and the place of it; nulls ask for nothing', async () => {
  answer = () => completion({ content: 'one' }, { prompt: [1], tokens: [2] })
  const taken = await take('places')
  const refused = async (path: string, body: object) => {
    const said = await post(`${taken.url}/${path}`, taken.key, { model: 'scripted', ...body })
    assert.is(said.status, 400)
    return await said.text()
  }
  const user = (content: unknown) => ({ max_tokens: 5, messages: [{ role: 'user', content }] })
  assert.match(await refused('messages', user([{ type: 'document', source: {} }])), "0.type: 'document'")
  const shown = { type: 'tool_result', tool_use_id: 'a', content: [{ type: 'search_result' }] }
  assert.match(
    await refused('messages', user([shown])),
    "messages.0.content.0.content.0.type: 'search_result'",
  )
  assert.match(
    await refused('responses', { input: [{ type: 'item_reference', id: 'a' }] }),
    "'item_reference'",
  )
  const file = { role: 'user', content: [{ type: 'input_file', file_id: 'a' }] }
  assert.match(await refused('responses', { input: [file] }), "input.0.content.0.type: 'input_file'")
  const asked = { model: 'scripted', conversation: null, input: [{ role: 'user', content: [PICTURE] }] }
  assert.is((await post(`${taken.url}/responses`, taken.key, asked)).status, 200)
  const { image_url, detail } = PICTURE
  assert.equal(endpoint.asked.at(-1)?.body.messages, [
    { role: 'user', content: [{ type: 'image_url', image_url: { url: image_url, detail } }] },
  ])
})

const PICTURE = { type: 'input_image', image_url: 'https://example.org/a.png', detail: 'low' }

test('another model than the one that plays is refused by name, and the list tells which it is', async () => {
  answer = () => completion({ content: 'x' }, { prompt: [1], tokens: [2] })
  const taken = await take('named')
  const client = clientOf(taken)
  const body = { messages: [{ role: 'user' as const, content: 'hello' }] }
  const asked = endpoint.asked.length
  const other = await post(`${taken.url}/chat/completions`, taken.key, { ...body, model: 'gpt-9' })
  assert.is(other.status, 404)
  assert.match(await other.text(), /'gpt-9' does not exist.*'scripted'/)
  assert.is(endpoint.asked.length, asked)
  assert.is((await client.models.retrieve('scripted')).id, 'scripted')
  for (const name of ['gpt-9', '%'])
    assert.is(
      (await fetch(`${taken.url}/models/${name}`, { headers: { authorization: `Bearer ${taken.key}` } }))
        .status,
      404,
    )
  await post(taken.outcome_url, taken.key, { success: true })
})

test('an agent cannot bring the answer itself', async () => {
  answer = () => completion({ content: 'x' }, { prompt: [1], tokens: [2] })
  const taken = await take('given')
  const asked = endpoint.asked.length
  const body = {
    model: 'scripted',
    messages: [{ role: 'user', content: 'hi' }],
    given_answer: { content: 'mine' },
  }
  const given = await post(`${taken.url}/chat/completions`, taken.key, body)
  assert.is(given.status, 400)
  assert.match(await given.text(), /'given_answer' is not passed on/)
  assert.is(endpoint.asked.length, asked)
  await post(taken.outcome_url, taken.key, { success: true })
})

test('what a stream refuses is still asked of whole answers', async () => {
  const seen: [boolean, boolean][] = []
  answer = (asked, response) => {
    const streams = asked.body.stream === true
    seen.push([streams, 'return_token_ids' in asked.body])
    if (streams && 'return_token_ids' in asked.body) {
      response.writeHead(400).end('{"error":{"message":"return_token_ids is not for streams"}}')
      return undefined
    }
    const whole = completion({ content: 'x' }, { prompt: [1], tokens: [2] })
    if (!streams) return whole
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    for (const event of completionEvents(whole)) response.write(event)
    response.end()
    return undefined
  }
  const taken = await take('kinds')
  const body = { model: 'scripted', messages: [{ role: 'user', content: 'hello' }], tools: TOOLS }
  for (const stream of [true, false, true])
    await (await post(`${taken.url}/chat/completions`, taken.key, { ...body, stream })).text()
  assert.equal(seen, [
    [true, true],
    [true, false],
    [false, true],
    [true, false],
  ])
  await post(taken.outcome_url, taken.key, { success: true })
})

test('log-probs that a hosted reasoning model refuses with 403 are not asked for again', async () => {
  const asked: boolean[] = []
  answer = ({ body }, response) => {
    asked.push('logprobs' in body)
    if (!('logprobs' in body)) return completion({ content: 'x' }, { prompt: [1], tokens: [2] })
    const message = 'You are not allowed to request logprobs from this model.'
    response.writeHead(403).end(JSON.stringify({ error: { message } }))
    return undefined
  }
  const taken = await take('thinking')
  const body = { model: 'scripted', messages: [{ role: 'user', content: 'hello' }] }
  for (let call = 0; call < 2; call++)
    assert.is((await post(`${taken.url}/chat/completions`, taken.key, body)).status, 200)
  assert.equal(asked, [true, false, false])
  await post(taken.outcome_url, taken.key, { success: true })
})

test('the length of messages and responses is called as the endpoint calls it, and that of a chat as its agent does', async () => {
  const asked: (readonly unknown[])[] = []
  answer = ({ body }, response) => {
    asked.push([body.max_tokens, body.max_completion_tokens, 'logprobs' in body])
    if (!('max_tokens' in body)) return completion({ content: 'x' }, { prompt: [1], tokens: [2] })
    const message =
      "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead. All: logprobs."
    response.writeHead(400).end(JSON.stringify({ error: { message } }))
    return undefined
  }
  const newer = await record('newer')
  const { url, token } = newer.server
  const task = { id: 'newer', goal: 'talk' }
  const taken = (await (await post(`${url}/rollouts`, token, { task })).json()) as Taken
  const messages = [{ role: 'user', content: 'hello' }]
  const chat = { model: 'scripted', max_tokens: 5, messages }
  assert.is((await post(`${taken.url}/messages`, taken.key, chat)).status, 200)
  assert.is((await post(`${taken.url}/messages`, taken.key, { ...chat, stream: true })).status, 200)
  const response = { model: 'scripted', max_output_tokens: 7, input: 'hello' }
  assert.is((await post(`${taken.url}/responses`, taken.key, response)).status, 200)
  assert.is((await post(`${taken.url}/chat/completions`, taken.key, chat)).status, 400)
  assert.equal(asked.slice(0, 4), [
    [5, undefined, true],
    [undefined, 5, true],
    [undefined, 5, true],
    [undefined, 7, true],
  ])
  assert.equal(
    asked.slice(4).every(([length]) => length === 5),
    true,
  )
  await newer.close()
})

test("a call that is refused in words of the agent's own takes nothing from the calls of others", async () => {
  const asked: [string, boolean][] = []
  answer = ({ body }, response) => {
    const [{ content }] = body.messages as { content: string }[]
    asked.push([content, 'logprobs' in body])
    if (content === 'hello') return completion({ content: 'x' }, { prompt: [1], tokens: [2] })
    response.writeHead(400).end(JSON.stringify({ error: { message: `not allowed: '${content}'` } }))
    return undefined
  }
  const taken = await take('quoting')
  const ask = (content: string) => {
    const body = { model: 'scripted', messages: [{ role: 'user', content }], tools: TOOLS }
    return post(`${taken.url}/chat/completions`, taken.key, body)
  }
  assert.is((await ask('tell logprobs')).status, 400)
  assert.is((await ask('hello')).status, 200)
  assert.equal(asked.at(-1), ['hello', true])
  await post(taken.outcome_url, taken.key, { success: true })
})

test('a stream without end is broken off, and is no step', async () => {
  const noise = Buffer.from(`: ${'x'.repeat(1_000_000)}\n\n`)
  answer = async (_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    for (let i = 0; i < 70 && !response.destroyed; i++)
      await new Promise((resolve) => response.write(noise, resolve))
    for (const event of completionEvents(completion({ content: 'x' }, { prompt: [1], tokens: [2] })))
      response.write(event)
    response.end()
    return undefined
  }
  const taken = await take('endless')
  const body = { model: 'scripted', messages: [{ role: 'user', content: 'hello' }], stream: true }
  const said = await post(`${taken.url}/chat/completions`, taken.key, body)
  const read = said.text().then(
    () => 'whole',
    () => 'broken off',
  )
  assert.is(await read, 'broken off')
  const ended = await (await post(taken.outcome_url, taken.key, { success: true })).json()
  assert.is((ended as { steps: number }).steps, 0)
})

test('faults reach the agent as they are, are counted, and are never steps', async () => {
  const whole = JSON.stringify(completion({ content: 'x' }, { prompt: [1], tokens: [2] }))
  const faults: readonly (readonly [string, number, (response: ServerResponse) => void])[] = [
    [
      'rate-limit',
      429,
      (r) => r.writeHead(429, { 'retry-after': '7' }).end('{"error":{"message":"slow down"}}'),
    ],
    ['server', 500, (r) => r.writeHead(500).end('{"error":{"message":"key upstream-word-123456 failed"}}')],
    ['unauthorised', 502, (r) => r.writeHead(401).end('{"error":{"message":"bad key"}}')],
    ['bad-json', 502, (r) => r.writeHead(200).end(whole.slice(0, 40))],
    ['empty-choices', 502, (r) => r.writeHead(200).end('{"choices":[]}')],
    ['connection', 502, (r) => r.destroy()],
  ]
  const taken = await take('faults')
  const body = { model: 'scripted', messages: [{ role: 'user', content: 'hello' }] }
  for (const [kind, status, spoil] of faults) {
    answer = (_, response) => void spoil(response)
    const before = gateway.counters()[`fault ${kind}`] ?? 0
    const got = await post(`${taken.url}/chat/completions`, taken.key, body)
    const text = await got.text()
    assert.is(got.status, status, kind)
    if (status === 429) assert.is(got.headers.get('retry-after'), '7')
    assert.not.match(text, 'upstream-word')
    assert.is(gateway.counters()[`fault ${kind}`], before + 1, kind)
  }
  const [first, ...rest] = completionEvents(JSON.parse(whole))
  answer = (_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write(first, () => response.destroy())
  }
  let broke = false
  try {
    const stream = await post(`${taken.url}/chat/completions`, taken.key, { ...body, stream: true })
    await stream.text()
  } catch {
    broke = true
  }
  assert.ok(broke, 'a stream that breaks off is not a whole one')
  assert.ok(rest.length > 0)
  const ended = await post(taken.outcome_url, taken.key, { success: true })
  assert.equal(await ended.json(), { rollout: taken.rollout, ended: 'failed', steps: 0 })
  assert.equal(eventsOf(taken.rollout, 'TrajectoryCompleted'), [])
  const [{ data }] = eventsOf(taken.rollout, 'RolloutFailed')
  assert.is(data.cause, 'agent')
})

const HELLO = { model: 'scripted', messages: [{ role: 'user', content: 'hello' }] }
const BOTH = [
  ['chat/completions', HELLO],
  ['messages', { ...HELLO, max_tokens: 5 }],
] as const

test('what is no HTTP, and neither an answer nor a refusal, becomes 502 with words', async () => {
  const whole = JSON.stringify(completion({ content: 'où' }, { prompt: [1], tokens: [2] }))
  const bytes = Buffer.byteLength(whole)
  const head = (length: number, status = '200 OK') =>
    `HTTP/1.1 ${status}\r\nContent-Length: ${length}\r\n\r\n`
  const cases: readonly (readonly [string, RegExp])[] = [
    [head(whole.length) + whole, /cut off/],
    [`${head(bytes)}${whole}and more`, /cut off/],
    [`HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n${whole}`, /cut off/],
    [`HTTP/1.1 204 No Content\r\n\r\n${whole}`, /cut off/],
    [head(bytes + 9) + whole, /cut off/],
    [`${head(bytes, '500 Failed')}${whole}and more`, /cut off/],
    [`${head(bytes, '099 X')}${whole}`, /answered 99, which is neither an answer nor a refusal/],
    [head(0, '307 Temporary Redirect'), /answered 307/],
    ['HTTP/1.1 304 Not Modified\r\n\r\n', /answered 304/],
    ['not HTTP at all', /cannot be reached/],
  ]
  let answered = ''
  const raw = await startRawEndpoint(() => answered)
  const broken = await record('broken', { target: { baseUrl: raw.url, model: 'scripted' } })
  const taken = await take('broken', broken.server)
  for (const [said, words] of cases)
    for (const [path, body] of BOTH) {
      answered = said
      const got = await post(`${taken.url}/${path}`, taken.key, body)
      assert.is(got.status, 502, said)
      assert.match(await got.text(), words, said)
    }
  await post(taken.outcome_url, taken.key, { success: true })
  assert.equal(eventsOf(taken.rollout, 'TrajectoryCompleted', 'broken'), [])
  await broken.close()
  await raw.close()
})

test('an answer with any status of success is answered and kept', async () => {
  answer = (_, response) => {
    const whole = completion({ content: 'one' }, { prompt: [1], tokens: [2] })
    response.writeHead(201, { 'content-type': 'application/json' }).end(JSON.stringify(whole))
    return undefined
  }
  const taken = await take('created')
  const said = await clientOf(taken).chat.completions.create(HELLO as typeof HELLO & { messages: [] })
  assert.is(said.choices[0].message.content, 'one')
  const ended = await post(taken.outcome_url, taken.key, { success: true })
  assert.is(((await ended.json()) as { steps: number }).steps, 1)
})

test('a key that a refusal writes with escapes is shown nowhere', async () => {
  process.env.RL_TEST_SLASHED_WORD = 'upstream/word/"123456'
  const escaping = await record('escapes', { keyEnv: 'RL_TEST_SLASHED_WORD' })
  const taken = await take('escapes', escaping.server)
  const told = (words: string) => `{"error":{"message":"no such key: ${words}"}}`
  for (const [status, words] of [
    [400, told('upstream/word/\\"12345\\u0036')],
    [400, told('upstream\\/word\\u002F\\u0022123456')],
    [400, '{"error":"upstream/word/\\"12345\\u0036","error":"none"}'],
    [400, '{"upstream\\/word\\/\\"123456":"is no key"}'],
    [500, 'upstream\\/word/"123456'],
    [200, 'upstream/word/"123456'],
  ] as const)
    for (const [path, body] of BOTH) {
      answer = (_, response) => void response.writeHead(status).end(words)
      const got = await post(`${taken.url}/${path}`, taken.key, body)
      assert.is(got.status, status === 200 ? 502 : status)
      const text = await got.text()
      assert.not.match(text, '12345')
      assert.not.match(text, /upstream.{1,8}word/)
    }
  await post(taken.outcome_url, taken.key, { failed: 'agent', error: 'refused' })
  await escaping.close()
})

test('integers that a number does not hold keep every digit', async () => {
  answer = () => completion({ content: 'one' }, { prompt: [1], tokens: [2] })
  const taken = await take('digits')
  const long = '9223372036854775807'
  const seeded = JSON.stringify({ ...HELLO, seed: 'SEED' }).replace('"SEED"', long)
  assert.is((await post(`${taken.url}/chat/completions`, taken.key, seeded)).status, 200)
  assert.match(endpoint.asked.at(-1)?.text ?? '', `"seed":${long}`)

  const values = `{"id":${long},"ids":[-${long}]}`
  const call = { id: 'call-1', type: 'function', function: { name: 'look', arguments: values } }
  answer = () => completion({ content: null, tool_calls: [call] }, { prompt: [1], tokens: [2] })
  const use = `{"type":"tool_use","id":"call-1","name":"look","input":${values}}`
  const body = `{"model":"scripted","max_tokens":5,"messages":[${[
    '{"role":"user","content":"look"}',
    `{"role":"assistant","content":[${use}]}`,
    '{"role":"user","content":[{"type":"tool_result","tool_use_id":"call-1","content":"a cat"}]}',
  ]}]}`
  const said = await post(`${taken.url}/messages`, taken.key, body)
  assert.match(await said.text(), `"input":${values}`)
  const [{ body: sent }] = endpoint.asked.slice(-1)
  const { messages } = sent as { messages: { tool_calls?: (typeof call)[] }[] }
  assert.is(messages[1].tool_calls?.[0].function.arguments, values)
  await post(taken.outcome_url, taken.key, { success: true })
  const [{ data }] = eventsOf(taken.rollout, 'CallsRecorded')
  assert.match(data.calls[1].answer, long)
})

test('log-probs that are no JSON are untold, and the answer is a step', async () => {
  const whole = completion({ content: 'x' }, { prompt: [1], tokens: [2] })
  const infinite = (json: string) => json.replaceAll('-0.25', '-Infinity')
  answer = ({ body }, response) => {
    if (body.stream) for (const event of completionEvents(whole)) response.write(infinite(event))
    response.end(body.stream ? '' : infinite(JSON.stringify(whole)))
    return undefined
  }
  const taken = await take('infinite')
  for (const stream of [false, true]) {
    const said = await post(`${taken.url}/chat/completions`, taken.key, { ...HELLO, stream })
    assert.is(said.status, 200)
    assert.match(await said.text(), '-Infinity')
  }
  const ended = await post(taken.outcome_url, taken.key, { success: true })
  assert.is(((await ended.json()) as { steps: number }).steps, 2)
  assert.is(eventsOf(taken.rollout, 'TrajectoryCompleted')[0].data.trainable, false)
})

test('an answer that is no stream is refused with a status', async () => {
  const whole = JSON.stringify(completion({ content: 'x' }, { prompt: [1], tokens: [2] }), null, 2)
  const taken = await take('no-stream')
  for (const [said, words] of [
    ['data: {"error":{"message":"no memory"}}\n\ndata: [DONE]\n\n', /no memory/],
    ['data: {"choices', /not JSON/],
    [whole, /no choices/],
    ['', /no choices/],
  ] as const) {
    answer = (_, response) => void response.end(said)
    const got = await post(`${taken.url}/chat/completions`, taken.key, { ...HELLO, stream: true })
    assert.is(got.status, 502)
    assert.match(await got.text(), words)
  }
  answer = (_, response) =>
    void response.end(`data: {"choices":[{"delta":{"content":"x"},"finish_reason":"stop"}]}`)
  const got = await post(`${taken.url}/chat/completions`, taken.key, { ...HELLO, stream: true })
  assert.match(await got.text(), '"content":"x"')
  const ended = await post(taken.outcome_url, taken.key, { success: true })
  assert.is(((await ended.json()) as { steps: number }).steps, 1)
})

test('what the endpoint says in the place of an answer, or in the middle of one, reaches the agent', async () => {
  const taken = await take('told-errors')
  const error = { message: `too many calls, upstream-word-123456`, code: 429 }
  answer = () => ({ error })
  for (const [path, body] of BOTH) {
    const got = await post(`${taken.url}/${path}`, taken.key, body)
    assert.is(got.status, 429)
    const text = await got.text()
    assert.match(text, 'too many calls')
    assert.not.match(text, 'upstream-word')
  }
  const piece = { choices: [{ index: 0, delta: { content: 'x' } }] }
  let go: () => void = () => {}
  const read: string[] = []
  answer = (_, response) => {
    response.write(`data: ${JSON.stringify(piece)}\n\n`)
    go = () => void response.end(`data: ${JSON.stringify({ error })}\n\n`)
  }
  const chat = { ...HELLO, stream: true } as typeof HELLO & { messages: []; stream: true }
  try {
    for await (const { choices } of await clientOf(taken).chat.completions.create(chat)) {
      read.push(choices[0].delta.content ?? '')
      go()
    }
    assert.unreachable()
  } catch (cause) {
    assert.match((cause as Error).message, 'too many calls')
    assert.not.match((cause as Error).message, 'upstream-word')
  }
  assert.equal(read, ['x'])
  const ended = await post(taken.outcome_url, taken.key, { success: true })
  assert.is(((await ended.json()) as { steps: number }).steps, 0)
})

test('answers that are compressed are read and told as they are, whole and in a stream', async () => {
  const whole = completion({ content: 'où' }, { prompt: [1], tokens: [2] })
  const codings = {
    gzip: gzipSync,
    br: brotliCompressSync,
    deflate: deflateSync,
    'deflate, gzip': (bytes: Buffer) => gzipSync(deflateSync(bytes)),
    Deflate: deflateRawSync,
  }
  const taken = await take('compressed')
  for (const [coding, encode] of Object.entries(codings)) {
    answer = ({ body }, response) => {
      const text = body.stream ? completionEvents(whole).join('') : JSON.stringify(whole)
      return void response.writeHead(200, { 'content-encoding': coding }).end(encode(Buffer.from(text)))
    }
    const stream = coding === 'gzip' || coding === 'br'
    const got = await post(`${taken.url}/chat/completions`, taken.key, { ...HELLO, stream })
    assert.is(got.status, 200, coding)
    assert.match(await got.text(), stream ? '"content":"ù"' : '"content":"où"', coding)
  }
  for (const [coding, bytes, words] of [
    ['gzip', Buffer.from(JSON.stringify(whole)), /content-encoding 'gzip'/],
    ['lzma', Buffer.from('{}'), /content-encoding 'lzma' is not read/],
    ['__proto__', Buffer.from('{}'), /is not read/],
    ['gzip', gzipSync(JSON.stringify(whole)).subarray(0, 60), /content-encoding|cut off/],
    // 70 MB, in 70 kB.
    ['gzip', gzipSync(Buffer.alloc(70_000_000)), /too long/],
  ] as const) {
    answer = (_, response) => void response.writeHead(200, { 'content-encoding': coding }).end(bytes)
    for (const stream of [false, true]) {
      const got = await post(`${taken.url}/chat/completions`, taken.key, { ...HELLO, stream })
      assert.is(got.status, 502, coding)
      assert.match(await got.text(), words)
    }
  }
  const ended = await post(taken.outcome_url, taken.key, { success: true })
  assert.is(((await ended.json()) as { steps: number }).steps, 5)
  assert.is(eventsOf(taken.rollout, 'TrajectoryCompleted')[0].data.trainable, true)
})

test('a redirect keeps the call as it is, or is refused by its address', async () => {
  answer = ({ path }, response) => {
    if (path.startsWith('/moved')) return completion({ content: 'here' }, { prompt: [1], tokens: [2] })
    const status = path.startsWith('/kept') ? 308 : 302
    return void response.writeHead(status, { location: '/moved/chat/completions' }).end()
  }
  const origin = new URL(endpoint.url).origin
  for (const [path, status, words] of [
    ['kept', 200, /"here"/],
    ['lost', 502, /answered 302, which redirects POST to .*\/moved\/chat\/completions/],
  ] as const) {
    const moved = await record(`redirect-${path}`, {
      target: { baseUrl: `${origin}/${path}`, model: 'scripted' },
    })
    const taken = await take('moved', moved.server)
    const got = await post(`${taken.url}/chat/completions`, taken.key, HELLO)
    assert.is(got.status, status)
    assert.match(await got.text(), words)
    await post(taken.outcome_url, taken.key, { success: true })
    await moved.close()
  }
})

test('the answer of another model is answered and kept, is told once, and nothing is learned from it', async () => {
  const whole = completion({ content: 'x' }, { prompt: [1], tokens: [2] }) as object
  const before = told.length
  for (const stream of [false, true]) {
    const taken = await take(`other-model-${stream}`)
    answer = (_, response) => {
      const other = { ...whole, model: 'fallback' }
      if (!stream) return other
      const events = completionEvents(whole).map((one) => one.replace('"scripted"', '"fallback"'))
      return void response.end(events.join(''))
    }
    const got = await post(`${taken.url}/chat/completions`, taken.key, { ...HELLO, stream })
    assert.is(got.status, 200)
    await got.text()
    await post(taken.outcome_url, taken.key, { success: true })
    assert.is(eventsOf(taken.rollout, 'TrajectoryCompleted')[0].data.trainable, false)
  }
  assert.is(gateway.counters()['untrainable other model'], 2)
  const [line, ...more] = told.slice(before).filter((one) => one.includes('fallback'))
  assert.match(line, "answers as 'fallback', but 'scripted' was asked")
  assert.equal(more, [])
})

test('what is nested too deeply is refused, and an answer that is cannot be read', async () => {
  const deep = (depth: number) => '['.repeat(depth) + ']'.repeat(depth)
  const taken = await take('deep')
  const body = JSON.stringify({ ...HELLO, metadata: 'DEEP' }).replace('"DEEP"', deep(20_000))
  for (const path of ['chat/completions', 'completions', 'responses', 'messages']) {
    const said = await post(`${taken.url}/${path}`, taken.key, body)
    assert.is(said.status, 400)
    assert.match(await said.text(), 'nested too deeply')
  }
  assert.is((await post(taken.outcome_url, taken.key, deep(20_000))).status, 400)
  const whole = JSON.stringify(completion({ content: 'x', z: 'DEEP' }, { prompt: [1], tokens: [2] }))
  answer = (_, response) => void response.end(whole.replace('"DEEP"', deep(20_000)))
  for (const [path, asked] of BOTH)
    assert.is((await post(`${taken.url}/${path}`, taken.key, asked)).status, 502)
  await post(taken.outcome_url, taken.key, { failed: 'agent', error: 'deep' })
})

test('keys open their own rollout alone, and an end is told once', async () => {
  answer = () => completion({ content: 'x' }, { prompt: [1], tokens: [2] })
  const [mine, other] = [await take('mine'), await take('other')]
  const body = { model: 'scripted', messages: [{ role: 'user', content: 'hello' }] }
  const call = `${mine.url}/chat/completions`
  assert.is((await post(call, other.key, body)).status, 401)
  assert.is((await post(call, gateway.server.token, body)).status, 401)
  assert.is((await post(mine.outcome_url, other.key, { success: true })).status, 401)
  assert.is((await post(`${gateway.server.url}/rollouts`, mine.key, {})).status, 401)
  assert.is((await post(call.replace(/rollouts\/[\w-]+/, 'rollouts/nobody'), mine.key, body)).status, 404)
  assert.is((await post(call, mine.key, '{')).status, 400)
  assert.is((await post(call, mine.key, { ...body, n: 2 })).status, 400)
  assert.is((await post(call, mine.key, 'x'.repeat(16_000_001))).status, 413)
  assert.is((await post(mine.outcome_url, mine.key, { success: 'yes' })).status, 400)
  for (let i = 0; i < 6; i++) assert.is((await post(call, mine.key, body)).status, 200)
  assert.is((await post(call, mine.key, body)).status, 409)
  assert.is((await post(mine.outcome_url, mine.key, { success: true })).status, 200)
  assert.is((await post(mine.outcome_url, mine.key, { success: true })).status, 200)
  assert.is((await post(mine.outcome_url, mine.key, { success: false })).status, 409)
  assert.is((await post(call, mine.key, body)).status, 410)
  assert.is(eventsOf(mine.rollout, 'TrajectoryCompleted').length, 1)
  await post(other.outcome_url, other.key, { failed: 'env', error: 'no room' })
  assert.is(eventsOf(other.rollout, 'RolloutFailed')[0].data.cause, 'env')
})

test("Anthropic's clients are told of a wrong key or rollout in their own words", async () => {
  const taken = await take('strangers')
  const call = `${taken.url}/messages`
  const body = { model: 'scripted', max_tokens: 5, messages: [{ role: 'user', content: 'hello' }] }
  const said = async (answered: Response) => {
    const { type, error } = (await answered.json()) as { type: string; error: { type: string } }
    return [answered.status, type, error.type]
  }
  const wrongKey = await post(call, 'rk-wrong', body)
  assert.is(wrongKey.headers.get('connection'), 'close')
  assert.equal(await said(wrongKey), [401, 'error', 'authentication_error'])
  const nobody = call.replace(/rollouts\/[\w-]+/, 'rollouts/nobody')
  assert.equal(await said(await post(nobody, taken.key, body)), [404, 'error', 'not_found_error'])
  assert.equal(await said(await fetch(call)), [404, 'error', 'not_found_error'])
  await post(taken.outcome_url, taken.key, { failed: 'agent', error: 'no call' })
})

test('a rollout without an outcome ends as out of time, and one that is open when the gateway ends as a fault', async () => {
  answer = () => completion({ content: 'x' }, { prompt: [1], tokens: [2] })
  const short = await record('short', { deadlineSeconds: 0.3 })
  const open = async (id: string) =>
    (await (
      await post(`${short.server.url}/rollouts`, short.server.token, { task: { id, goal: 'wait' } })
    ).json()) as Taken
  const late = await open('late')
  await until('out of time', () => eventsOf(late.rollout, 'RolloutFailed', 'short').length > 0)
  const [{ data }] = eventsOf(late.rollout, 'RolloutFailed', 'short')
  assert.is(data.cause, 'budget')
  assert.match(data.error, /agent told no outcome within 0.3 s/)
  const left = await open('left')
  await short.close()
  assert.is(eventsOf(left.rollout, 'RolloutFailed', 'short').length, 1)
  assert.equal(eventsOf(left.rollout, 'TrajectoryCompleted', 'short'), [])
})

test('an agent that hangs up at the last event of a stream has had the whole answer', async () => {
  const whole = completion({ content: 'a cat' }, { prompt: [1], tokens: [2] })
  answer = (_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    for (const event of completionEvents(whole)) response.write(event)
    // The body goes on until the agent is gone.
    return undefined
  }
  const taken = await take('hangs-up')
  const hangUp = new AbortController()
  const answered = await fetch(`${taken.url}/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${taken.key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'scripted', stream: true, messages: [{ role: 'user', content: 'look' }] }),
    signal: hangUp.signal,
  })
  let text = ''
  for await (const part of answered.body ?? []) {
    text += Buffer.from(part).toString()
    if (text.includes('[DONE]')) break
  }
  hangUp.abort()
  assert.is((await post(taken.outcome_url, taken.key, { success: true })).status, 200)
  assert.is(eventsOf(taken.rollout, 'TrajectoryCompleted')[0].data.steps, 1)
})

test('an agent that does not read its stream gives its place back at the limit of the call, or with its rollout', async () => {
  const part = Buffer.from(`data: {"choices":[]}\n\n: ${'x'.repeat(1_000_000)}\n\n`)
  let unsent = () => 0
  answer = ({ body }, response) => {
    if (body.stream !== true) return completion({ content: 'x' }, { prompt: [1], tokens: [2] })
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    // More than the sockets between here and the agent hold.
    for (let i = 0; i < 30; i++) response.write(part)
    unsent = () => response.writableLength
    return undefined
  }
  const messages = [{ role: 'user', content: 'hello' }]
  for (const limit of ['call', 'rollout']) {
    const narrow = await record(`unread-${limit}`, { maxCalls: 1, callSeconds: limit === 'call' ? 0.5 : 60 })
    const open = async (id: string) => {
      const { url, token } = narrow.server
      return (await (await post(`${url}/rollouts`, token, { task: { id, goal: 'wait' } })).json()) as Taken
    }
    const [stuck, other] = [await open('stuck'), await open('other')]
    const unread = request(`${stuck.url}/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${stuck.key}` },
    })
    unread.on('error', () => {})
    unread.end(JSON.stringify({ stream: true, messages }))
    // A response that nobody listens to would be read.
    await once(unread, 'response')
    if (limit === 'rollout') {
      let [left, same] = [-1, 0]
      await until('a stream that stands', () => {
        same = unsent() === left ? same + 1 : 0
        left = unsent()
        return same > 20
      })
      await post(stuck.outcome_url, stuck.key, { failed: 'agent', error: 'stuck' })
    }
    await until('a free place', async () => {
      const { status } = await post(`${other.url}/chat/completions`, other.key, { messages })
      return status !== 429
    })
    unread.destroy()
    await narrow.close()
  }
})

test('a start that failed before its first event is no run: the next one begins it', async () => {
  const failed = await startHeadCore({ folder: runFolder('begun', root), work: [] })
  await failed.close()
  const begun = await record('begun')
  await begun.close()
  const log = openLogReader(runFolder('begun', root).log)
  assert.is(startsOf(log).first.position, 1)
  log.close()
})

test('no key stands in any file of the run', () => {
  assert.is(keys.length, 2)
  const files = readdirSync(root, { recursive: true, encoding: 'utf8' })
    .map((name) => join(root, name))
    .filter((path) => statSync(path).isFile())
  for (const path of files) {
    const content = readFileSync(path)
    for (const word of [...keys, gateway.server.token, 'upstream-word-123456'])
      assert.not.ok(content.includes(word), path)
  }
})

test.run()
