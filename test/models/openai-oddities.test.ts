/** Endpoints as strangers have them: what is odd costs an answer or a column of it, and never the process or a key. */
import type { ServerResponse } from 'node:http'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { fromWire } from '../../src/models/openai/wire.ts'
import { openEndpoint } from '../../src/models/openai.ts'
import type { GenerateRequest } from '../../src/models/port.ts'
import type { ModelOptions } from '../../src/models/provider.ts'
import { errorOf } from '../support/error-of.ts'
import { type Asked, completion, startScriptedEndpoint } from '../support/scripted-endpoint.ts'

const SECRET = 'word-that-nobody-may-read'
process.env.RL_TEST_ODD_WORD = SECRET

async function against(
  answer: (asked: Asked, response: ServerResponse, index: number) => unknown,
  use: (
    open: (changes?: Partial<ModelOptions>) => ReturnType<typeof openEndpoint>,
    said: string[],
    asked: readonly Asked[],
  ) => Promise<void>,
): Promise<void> {
  const endpoint = await startScriptedEndpoint(answer)
  const said: string[] = []
  try {
    await use(
      (changes = {}) =>
        openEndpoint({
          ...{ model: 'odd', baseUrl: endpoint.url, apiKeyEnv: 'RL_TEST_ODD_WORD', concurrency: 8 },
          ...{ callMs: 60_000, budgetMs: 120_000, promptPrice: null, completionPrice: null },
          report: (message) => void said.push(message),
          ...changes,
        }),
      said,
      endpoint.asked,
    )
  } finally {
    await endpoint.close()
  }
}

const request = (seed: number, content = 'hi'): GenerateRequest => ({
  ...{ prompt: { messages: [{ role: 'user', content }] }, maxTokens: 4, temperature: 1, seed: [seed, 0] },
})

const plain = (content: string, more: object = {}) => ({
  choices: [{ message: { role: 'assistant', content }, finish_reason: 'stop' }],
  ...more,
})

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
    assert.throws(() => fromWire(answer(reason), {}), new RegExp(`broke the answer off: ${reason}`))
  assert.is(fromWire(answer('stop'), {}).finish, 'stop')
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

test('a prompt that is clearly longer than the context is not sent, whoever asks', async () => {
  await against(
    (asked) => (asked.path.endsWith('/models') ? { data: [{ id: 'm', max_model_len: 1_024 }] } : plain('ok')),
    async (open, _, asked) => {
      const endpoint = open({ model: 'm' })
      const error = await errorOf(endpoint.generate([request(1, 'word '.repeat(2_000))]))
      assert.is(error.code, 'model.context')
      assert.match(error.message, /context has 1024/)
      assert.equal(
        asked.map(({ path }) => path),
        ['/v1/models'],
      )
      await endpoint.generate([request(1, 'word '.repeat(700))])
      assert.is(asked.length, 2)
    },
  )
})

test('a server that counts hardly any tokens of a long prompt is told of', async () => {
  await against(
    () => plain('ok', { usage: { prompt_tokens: 300, completion_tokens: 1 } }),
    async (open, said) => {
      const endpoint = open()
      await endpoint.generate([request(1, 'words and words '.repeat(80))])
      assert.not.ok(said.some((line) => /cut prompts/.test(line)))
      await endpoint.generate([request(1, 'words and words '.repeat(800))])
      assert.is(said.filter((line) => /counts 300 tokens .* cut prompts/.test(line)).length, 1)
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
      return { data: [{ id: 'odd', max_model_len: 2_048 }] }
    },
    async (open, _, asked) => {
      const endpoint = open()
      await endpoint.generate([request(1, 'word '.repeat(200))])
      assert.ok(await endpoint.fits?.(request(1, 'short')))
      assert.not.ok(await endpoint.fits?.(request(1, 'word '.repeat(2_000))))
      assert.ok(await endpoint.fits?.(request(1, 'word '.repeat(700))))
      assert.is(lists, 1)
      assert.is(asked.length, 2)
    },
  )
})

test.run()
