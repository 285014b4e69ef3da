/** Endpoints as strangers have them: what is odd costs an answer or a column of it, and never the process or a key. */
import type { ServerResponse } from 'node:http'
import { gzipSync } from 'node:zlib'
import OpenAI from 'openai'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { tryOut } from '../../src/actors/learner/endpoint.ts'
import { faultOf } from '../../src/models/openai/faults.ts'
import { fromWire } from '../../src/models/openai/wire.ts'
import { against, plain, request, SECRET } from '../support/against-endpoint.ts'
import { errorOf } from '../support/error-of.ts'
import { completion, startScriptedEndpoint } from '../support/scripted-endpoint.ts'

test('an answer whose counts, ids or log-probs make no sense is an answer all the same', async () => {
  const wholes = [
    plain('a', { usage: { prompt_tokens: -5, completion_tokens: 1 } }),
    plain('b', { usage: { prompt_tokens: null, completion_tokens: 'many' } }),
    plain('c', { prompt_token_ids: [-1, 2] }),
    {
      choices: [
        {
          ...{ message: { content: 'd' }, finish_reason: 'eos', token_ids: [1.5] },
          logprobs: { content: [{ logprob: 3 }] },
        },
      ],
    },
  ]
  await against(
    (_, __, index) => wholes[index],
    async (open) => {
      const endpoint = open()
      for (const text of ['a', 'b', 'c', 'd']) {
        const [{ text: got, tokens, logprobs, usage }] = await endpoint.generate([request(1)])
        assert.equal([got, tokens, logprobs], [text, null, null])
        assert.ok(usage.promptTokens >= 0 && usage.completionTokens >= 0)
      }
      assert.equal(endpoint.use().faults, {})
      assert.is(endpoint.use().untrainable, 4)
    },
  )
})

test('an answer that the server broke off is a fault, not the end of a text', () => {
  const answer = (finish_reason: string) => ({ choices: [{ text: 'half an', finish_reason }] })
  for (const reason of ['abort', 'error'])
    assert.throws(() => fromWire(answer(reason), {}), new RegExp(`cut the answer off: ${reason}`))
  assert.is(fromWire(answer('stop'), {}).finish, 'stop')
})

test('a refusal in place of an answer, and an answer that a filter cut, are told by name and hold nothing', async () => {
  const told = { prompt: [1], tokens: [2, 3] }
  const cut = completion({ content: 'Fine. \\boxed{1}' }, told) as { choices: { finish_reason: string }[] }
  cut.choices[0].finish_reason = 'content_filter'
  const wholes = [completion({ content: null, refusal: 'I cannot help with that.' }, told), cut]
  await against(
    (_, __, index) => wholes[index % 2],
    async (open, said) => {
      const endpoint = open()
      for (const seed of [1, 2, 3, 4]) {
        const [{ text, finish, tokens, logprobs, usage }] = await endpoint.generate([request(seed)])
        assert.equal([text, finish, tokens, logprobs], ['', 'refused', null, null])
        assert.is(usage.completionTokens, 2)
      }
      assert.is(endpoint.use().untrainable, 4)
      assert.is(said.length, 1, said.join('\n'))
      assert.match(said[0], 'refused an answer')
    },
  )
})

test('an error with status 200 is the refusal that it tells', async () => {
  for (const [error, code, words] of [
    [{ message: 'quota is spent' }, 'model.endpoint', 'refused: answered 200 with an error: quota is spent'],
    [{ message: 'no such key', code: 401 }, 'model.endpoint', 'unauthorised: '],
    [{ message: 'too long', code: 'context_length_exceeded' }, 'model.context', 'too long'],
  ] as const)
    await against(
      () => ({ error }),
      async (open, _, asked) => {
        const refused = await errorOf(open().generate([request(1)]))
        assert.is(refused.code, code)
        assert.match(refused.message, words)
        assert.is(asked.length, 1)
      },
    )
  for (const [told, fault] of [
    [{ code: 429 }, 'rate-limit'],
    [{ code: '503' }, 'server'],
    [{ code: null, status: 500 }, 'server'],
    [{ code: 'rate_limit_exceeded' }, 'rate-limit'],
    [{ status: 'RESOURCE_EXHAUSTED' }, 'rate-limit'],
    [{ type: 'overloaded_error' }, 'server'],
    [{ type: 'server_error', code: null }, 'server'],
    [{ code: 'timeout' }, 'timeout'],
  ] as const)
    await against(
      (_, __, index) => (index > 0 ? plain('ok') : { error: { message: 'slower', ...told }, choices: null }),
      async (open) => {
        const endpoint = open()
        assert.is((await endpoint.generate([request(1)]))[0].text, 'ok')
        assert.equal(endpoint.use().faults, { [fault]: 1 })
      },
    )
})

test('log-probs that no drawn token has are untold, in JSON or not', async () => {
  const whole = JSON.stringify(
    completion({ content: 'not -Infinity, "NaN" \\\\' }, { prompt: [1], tokens: [2, 4] }),
  )
  const written = ['-Infinity', 'NaN', '-9999.0']
  await against(
    (_, response, index) => void response.end(whole.replace('-0.5', written[index])),
    async (open) => {
      const endpoint = open()
      for (const word of written) {
        const [{ text, tokens, logprobs }] = await endpoint.generate([request(1)])
        assert.equal([text, [...tokens!], logprobs], ['not -Infinity, "NaN" \\\\', [2, 4], null], word)
      }
      assert.equal(endpoint.use().faults, {})
    },
  )
})

test('content in parts is one text, arguments of a tool in JSON are their text', () => {
  const call = { id: 'a', type: 'function', function: { name: 'look', arguments: { at: 'desk' } } }
  const parts = ['I ', 'look.'].map((text) => ({ type: 'text', text }))
  const { text, toolCalls } = fromWire(
    completion({ content: parts, tool_calls: [call] }, { prompt: [1], tokens: [2] }),
    {},
  )
  assert.is(text, 'I look.')
  assert.equal(toolCalls, [{ name: 'look', arguments: '{"at":"desk"}' }])
  const heard = completion({ content: [{ type: 'audio' }] }, { prompt: [1], tokens: [2] })
  assert.throws(() => fromWire(heard, {}), /choices\.0\.message\.content/)
})

test('JSON under any content type is read; text, a torn body and an endless one are faults by name', async () => {
  const bodies = [
    (response: ServerResponse) =>
      response.writeHead(200, { 'content-type': 'text/html' }).end(JSON.stringify(plain('fine'))),
    (response: ServerResponse) => response.writeHead(200, { 'content-type': 'text/plain' }).end('hello'),
    (response: ServerResponse) => {
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': 1_000 })
      response.write('{"choices": [')
      response.destroy()
    },
  ]
  let turn = 0
  await against(
    (_, response) => void bodies[turn](response),
    async (open) => {
      assert.is((await open().generate([request(1)]))[0].text, 'fine')
      for (const kind of ['bad-json', 'connection']) {
        turn++
        const endpoint = open({ budgetMs: 3_000 })
        const { code } = await errorOf(endpoint.generate([request(1)]))
        assert.is(code, 'model.deadline')
        assert.ok((endpoint.use().faults as Record<string, number>)[kind] > 0, kind)
      }
    },
  )
  await against(
    (_, response) => {
      const more = () => {
        while (!response.destroyed && response.write(' '.repeat(1_000_000)));
      }
      response.writeHead(200, { 'content-type': 'application/json' }).on('drain', more)
      more()
    },
    async (open) => {
      const { message } = await errorOf(open({ callMs: 10_000, budgetMs: 10_000 }).generate([request(1)]))
      assert.match(message, /longer than|no answer within/)
    },
  )
})

test('refusals in any words lose the field that they name, and never tell the key', async () => {
  const wordings = [
    (field: string) => ({ error: { message: `${field}: extra fields not permitted ${SECRET}` } }),
    (field: string) => ({ detail: [{ loc: ['body', field], msg: 'Extra inputs are not permitted' }] }),
    (field: string) => ({ detail: `unknown field ${field}` }),
    (field: string) => ({ object: 'error', message: `Unrecognized request argument: ${field}` }),
    (field: string) => ({ error: `json: unknown field "${field}"` }),
  ]
  for (const [index, wording] of wordings.entries())
    await against(
      ({ body }, response) => {
        const field = ['min_p', 'return_token_ids', 'seed_words'].find((name) => name in body)
        if (field === undefined) return plain('ok')
        response.writeHead(index % 2 === 0 ? 400 : 422).end(JSON.stringify(wording(field)))
      },
      async (open, said, asked) => {
        const endpoint = open()
        assert.is((await endpoint.generate([request(1)]))[0].text, 'ok')
        await endpoint.generate([request(2)])
        assert.is(asked.length, 5, 'a field that was refused is not sent again')
        assert.is(said.filter((one) => one.includes('min_p')).length, 1)
        assert.not.ok(said.join().includes(SECRET))
      },
    )
  await against(
    (_, response) => void response.writeHead(403).end(`no: ${SECRET}`),
    async (open) => {
      const { message, hint } = await errorOf(open().generate([request(1)]))
      assert.not.ok(`${message} ${hint}`.includes(SECRET))
      assert.match(message, /unauthorised/)
    },
  )
})

test('white space around a key is left out; one that no header can hold is refused by its variable, and not shown', async () => {
  const variable = 'RL_TEST_ODD_KEY'
  await against(
    () => plain('ok'),
    async (open, _, asked) => {
      process.env[variable] = ' word-of-mine\n'
      await open({ apiKeyEnv: variable }).generate([request(1)])
      assert.is(asked[0].authorization, 'Bearer word-of-mine')
      for (const key of ['word\nof-mine', '\u201cword-of-mine\u201d', 'word-of\u0007-mine']) {
        process.env[variable] = key
        const error = await errorOf(Promise.resolve().then(() => open({ apiKeyEnv: variable })))
        assert.is(error.code, 'config.key')
        assert.match(error.message, variable)
        assert.not.match(`${error.stack} ${error.hint} ${error.cause}`, '-mine')
      }
      assert.is(asked.length, 1)
    },
  )
})

test('a key that a server tells as part of an address stands in no error', async () => {
  const variable = 'RL_TEST_ODD_KEY'
  process.env[variable] = 'a/key+of=mine'
  await against(
    ({ authorization = '' }, response) => {
      const key = encodeURIComponent(authorization.replace('Bearer ', ''))
      response.writeHead(400).end(JSON.stringify({ error: { message: `no such path /v1?key=${key}` } }))
    },
    async (open) => {
      const { message } = await errorOf(open({ apiKeyEnv: variable }).generate([request(1)]))
      assert.match(message, 'key=***')
      assert.not.match(message, 'mine')
    },
  )
})

test('a prompt that is too long is known by the words of many servers', async () => {
  for (const message of [
    'The decoder prompt (length 5000) is longer than the maximum model length of 4096.',
    'The prompt (total length 5000) is too long to fit into the model (context length 4096).',
    "The input (5000 tokens) is longer than the model's context length (4096 tokens).",
    'Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000 `inputs` tokens',
    'Input validation error: `inputs` must have less than 4096 tokens. Given: 5000',
    'the request exceeds the available context size, try increasing it',
    'The input token count (5000) exceeds the maximum number of tokens allowed (4096).',
    'prompt is too long: 5000 tokens > 4096 maximum',
  ])
    await against(
      (_, response) => void response.writeHead(400).end(JSON.stringify({ error: { message } })),
      async (open, _, asked) => {
        assert.is((await errorOf(open().generate([request(1)]))).code, 'model.context', message)
        assert.is(asked.length, 1)
      },
    )
})

test('a refusal for want of room, which names fields of the length, changes no field', async () => {
  const words =
    "'max_tokens' or 'max_completion_tokens' is too large: 4. This model's maximum context length is 4096 tokens."
  await against(
    (_, response, index) => {
      if (index > 0) return plain('ok')
      response.writeHead(400).end(JSON.stringify({ error: { message: words, param: 'max_tokens' } }))
    },
    async (open, _, asked) => {
      const endpoint = open()
      assert.is((await errorOf(endpoint.generate([request(1)]))).code, 'model.context')
      await endpoint.generate([request(2)])
      assert.equal(
        asked.map(({ body }) => 'max_tokens' in body),
        [true, true],
      )
    },
  )
})

test('what is odd is told once: no token ids, no log-probs, equal answers at a temperature above 0', async () => {
  await against(
    () => plain('the same', { usage: { prompt_tokens: 3, completion_tokens: 2 } }),
    async (open, said) => {
      const endpoint = open()
      for (let seed = 0; seed < 30; seed++) await endpoint.generate([request(seed)])
      assert.is(said.length, 2, said.join('\n'))
      assert.match(said[0], /token ids/)
      assert.match(said[1], /the same, at temperature 1/)
    },
  )
  await against(
    (_, __, index) => completion({ content: String(index % 7) }, { prompt: [1], tokens: [2] }),
    async (open, said) => {
      const endpoint = open()
      for (let seed = 0; seed < 40; seed++) await endpoint.generate([request(seed)])
      assert.equal(said, [])
    },
  )
})

test('reasoning is kept apart, and its tokens are told by where thinking ends', async () => {
  const tokens = ['I ', 'think', '</think>', '4', '<end>']
  const whole = (texts: readonly string[]) => ({
    choices: [
      {
        ...{ message: { content: '4', reasoning_content: 'I think' }, finish_reason: 'stop' },
        ...{ token_ids: [1, 2, 3, 4, 5], prompt_token_ids: [9] },
        logprobs: { content: texts.map((token) => ({ token, logprob: -1 })) },
      },
    ],
  })
  const wholes = [whole(tokens), whole(tokens.map(() => ''))]
  await against(
    (_, __, index) => wholes[index],
    async (open) => {
      const endpoint = open()
      const [seen] = await endpoint.generate([request(1)])
      assert.is(seen.text, '4')
      assert.equal(seen.reasoning, { text: 'I think', tokens: 3 })
      const [unseen] = await endpoint.generate([request(1)])
      assert.is(unseen.reasoning?.tokens, 5, 'where its end is not seen all of it counts as reasoning')
    },
  )
})

test('sampling is told in full, and what the config adds stands over it', async () => {
  await against(
    () => plain('ok'),
    async (open, _, asked) => {
      await open().generate([request(1)])
      const { body } = asked[0]
      assert.equal(
        [body.temperature, body.top_p, body.top_k, body.min_p, body.repetition_penalty],
        [1, 1, -1, 0, 1],
      )
      assert.equal([body.presence_penalty, body.frequency_penalty, body.seed], [0, 0, 0])
      const other = open({
        ...{ extraBody: { top_k: 5, priority: 2 }, template: { enable_thinking: false } },
        ...{ reasoningEffort: 'low', sendSeed: false },
      })
      await other.generate([request(1)])
      const told = asked[1].body
      assert.equal(
        [told.top_k, told.priority, told.chat_template_kwargs, told.reasoning_effort, 'seed' in told],
        [5, 2, { enable_thinking: false }, 'low', false],
      )
    },
  )
})

test('a long prompt is known not to fit before it is sent', async () => {
  let lists = 0
  await against(
    ({ path }) => {
      if (path !== '/v1/models') return plain('ok', { usage: { prompt_tokens: 400, completion_tokens: 1 } })
      lists++
      return { data: [{ id: 'scripted', max_model_len: 1_024 }] }
    },
    async (open, _, asked) => {
      const endpoint = open()
      await tryOut(endpoint, { temperature: 1 })
      assert.is(lists, 1, 'the try-out asks how long the context is')
      await endpoint.generate([request(1, 'word '.repeat(400))])
      const sent = asked.length
      assert.ok(await endpoint.fits?.(request(1, 'short')))
      assert.ok(await endpoint.fits?.(request(1, 'word '.repeat(1_000))))
      assert.not.ok(await endpoint.fits?.(request(1, 'word '.repeat(1_200))))
      const { code, message } = await errorOf(endpoint.generate([request(1, 'word '.repeat(1_400))]))
      assert.is(code, 'model.context')
      assert.match(message, /some 1400 tokens.*context of 1024/)
      assert.is(asked.length, sent, 'it was not sent')
      assert.is(endpoint.use().unsent, 1)
      assert.is(lists, 1)
    },
  )
})

test('a server that counts far fewer tokens than a prompt has is told of, once', async () => {
  const context = 2_048
  await against(
    ({ body }) => {
      const [{ content }] = body.messages as { content: string }[]
      const tokens = Math.ceil(content.length / 4)
      return plain(content.slice(0, 3), {
        usage: { prompt_tokens: Math.min(tokens, context), completion_tokens: 0 },
      })
    },
    async (open, said) => {
      const endpoint = open()
      for (const words of [100, 1_000, 1_500, 2_000, 4_000, 8_000, 9_000])
        await endpoint.generate([request(1, 'word '.repeat(words))])
      assert.is(said.length, 1, said.join('\n'))
      assert.match(said[0], /2048 prompt tokens.*num_ctx/)
    },
  )
})

test('a lost connection is told by its innermost cause', () => {
  const unknown = Object.assign(new Error('getaddrinfo ENOTFOUND nowhere'), { code: 'ENOTFOUND' })
  const refused = Object.assign(new AggregateError([unknown]), { code: 'ECONNREFUSED' })
  for (const [inner, words] of [
    [unknown, 'Connection error. (getaddrinfo ENOTFOUND nowhere)'],
    [refused, 'Connection error. (ECONNREFUSED)'],
  ] as const) {
    const cause = new TypeError('fetch failed', { cause: inner })
    const { kind, message } = faultOf(new OpenAI.APIConnectionError({ cause }), false)
    assert.equal([kind, message], ['connection', words])
  }
  const round = new Error('round')
  assert.match(faultOf(Object.assign(round, { cause: round }), false).message, 'round')
})

test('an empty list of ids is untold: it is told once, and counted', async () => {
  const whole = completion({ content: 'a' }, { prompt: [], tokens: [2] })
  await against(
    () => whole,
    async (open, said) => {
      const endpoint = open()
      for (const seed of [1, 2]) {
        const [{ promptTokens }] = await endpoint.generate([request(seed)])
        assert.is(promptTokens, null)
      }
      assert.is(endpoint.use().untrainable, 2)
      assert.equal([said.length, /token ids/.test(said[0])], [1, true])
    },
  )
})

test('the answer of another model, or of none, is told once by its name and has no columns', async () => {
  const whole = completion({ content: 'a' }, { prompt: [1], tokens: [2] }) as object
  for (const [model, words] of [
    ['base\u0007', /answers as 'base\?', but 'scripted' was asked/],
    ['', /do not name their model/],
    [undefined, /do not name their model/],
    ['owner/Scripted', null],
  ] as const)
    await against(
      () => ({ ...whole, model }),
      async (open, said) => {
        const endpoint = open()
        for (const seed of [1, 2]) {
          const [{ text, tokens, logprobs }] = await endpoint.generate([request(seed)])
          assert.equal([text, tokens === null, logprobs === null], ['a', words !== null, words !== null])
        }
        assert.is(endpoint.use().untrainable, words === null ? 0 : 2)
        assert.is(said.length, words === null ? 0 : 1, said.join('\n'))
        if (words) assert.match(said[0], words)
      },
    )
})

test('an answer that is not UTF-8, compressed for nobody or without an end is told as that', async () => {
  const head = { 'content-type': 'application/json' }
  const whole = JSON.stringify(plain('où'))
  for (const [coding, bytes, message] of [
    ['identity', Buffer.from(whole, 'latin1'), 'the answer is not UTF-8'],
    ['lzma', Buffer.from(whole), "content-encoding 'lzma' is not read here"],
    ['gzip', Buffer.from(whole), 'not in its content-encoding'],
    ['gzip', gzipSync(Buffer.alloc(70_000_000, ' ')), 'longer than 64000000 bytes'],
  ] as const)
    await against(
      (_, response) => void response.writeHead(200, { ...head, 'content-encoding': coding }).end(bytes),
      async (open) => {
        // What no retry helps is told at once; the others are asked for again.
        const endpoint = open(/longer|lzma/.test(message) ? {} : { budgetMs: 1_000 })
        const failed = await errorOf(endpoint.generate([request(1)]))
        assert.match(failed.message, message)
        assert.equal(Object.keys(endpoint.use().faults), ['bad-answer'])
      },
    )
  await against(
    (_, response) =>
      void response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync(`\ufeff${whole}`)),
    async (open) => assert.is((await open().generate([request(1)]))[0].text, 'où'),
  )
})

test('a redirect keeps a POST, or is refused by the address that it names', async () => {
  await against(
    ({ path, body }, response) => {
      if (path === '/v1/chat/completions') {
        const status = body.seed === 0 ? 307 : 301
        return void response.writeHead(status, { location: '/v2/there' }).end()
      }
      assert.is(body.model, 'scripted')
      return plain('there')
    },
    async (open, _, asked) => {
      const endpoint = open()
      assert.is((await endpoint.generate([{ ...request(1), seed: [1, 0] }]))[0].text, 'there')
      assert.is(asked[1].authorization, `Bearer ${SECRET}`)
      const failed = await errorOf(endpoint.generate([{ ...request(1), seed: [2, 0] }]))
      assert.match(failed.message, /301, which redirects POST to .*\/v2\/there/)
      assert.is(asked.length, 3)
    },
  )
})

test('an address where nobody listens, and a call that is never answered, are told as such', async () => {
  const closed = await startScriptedEndpoint(() => undefined)
  await closed.close()
  await against(
    () => undefined,
    async (open) => {
      const { message } = await errorOf(open({ baseUrl: closed.url, budgetMs: 1_000 }).generate([request(1)]))
      assert.match(message, 'ECONNREFUSED')
      const unanswered = await errorOf(open({ budgetMs: 300 }).generate([request(1)]))
      assert.is(unanswered.code, 'model.deadline')
      assert.match(unanswered.message, 'the call was not answered')
    },
  )
})

test.run()
