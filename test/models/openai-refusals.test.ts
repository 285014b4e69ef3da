/** What a model of a hosted server refuses although others need it: it is left out where it changes nothing, and renamed. */
import type { ServerResponse } from 'node:http'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { tryOut } from '../../src/actors/learner/endpoint.ts'
import { against, plain, request } from '../support/against-endpoint.ts'
import { errorOf } from '../support/error-of.ts'
import type { Asked } from '../support/scripted-endpoint.ts'

/** A hosted reasoning model: no sampling but its own, thinking before it speaks, and lengths under another name. */
function reasoningModel({ body }: Asked, response: ServerResponse): unknown {
  const refuse = (status: number, message: string, param: string | null = null) =>
    void response
      .writeHead(status)
      .end(JSON.stringify({ error: { message, param, type: 'invalid_request_error' } }))
  const { temperature, max_completion_tokens: most } = body
  const unknown = ['return_token_ids', 'seed_words', 'top_k', 'min_p', 'repetition_penalty']
  const unsupported = ['top_p', 'presence_penalty', 'frequency_penalty'].find((name) => name in body)
  const unrecognised = unknown.find((name) => name in body)
  if (unrecognised) return refuse(400, `Unrecognized request argument supplied: ${unrecognised}`)
  if ('max_tokens' in body)
    return refuse(
      400,
      "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
      'max_tokens',
    )
  if (unsupported)
    return refuse(
      400,
      `Unsupported parameter: '${unsupported}' is not supported with this model.`,
      unsupported,
    )
  if ('logprobs' in body) return refuse(403, 'You are not allowed to request logprobs from this model.')
  if (temperature !== undefined && temperature !== 1)
    return refuse(
      400,
      `Unsupported value: 'temperature' does not support ${temperature} with this model. Only the default (1) value is supported.`,
      'temperature',
    )
  if ((most as number) < 4)
    return refuse(
      400,
      'Could not finish the message because max_tokens or model output limit was reached. Please try again with higher max_tokens.',
    )
  return plain('ok')
}

test('a hosted reasoning model is tried and asked, without what it refuses and with the length that it knows', async () => {
  await against(reasoningModel, async (open, said, asked) => {
    const endpoint = open()
    await tryOut(endpoint, { temperature: 1, topP: 1 })
    const tried = asked.length
    const answers = await endpoint.generate([1, 2, 3].map((seed) => request(seed)))
    assert.equal(
      answers.map(({ text }) => text),
      ['ok', 'ok', 'ok'],
    )
    assert.is(asked.length, tried + 3, 'what was refused is not sent again')
    const { body } = asked.at(-1)!
    assert.is(body.max_completion_tokens, 4)
    assert.is(body.temperature, 1)
    assert.not.ok('top_p' in body || 'max_tokens' in body)
    assert.equal(endpoint.use().faults, {})
    for (const field of ['top_p', 'max_completion_tokens'])
      assert.is(said.filter((one) => one.includes(field)).length, 1, said.join('\n'))
  })
})

test('calls that were under way when a field was refused go on without it as well', async () => {
  await against(reasoningModel, async (open, said) => {
    const answers = await open().generate(Array.from({ length: 8 }, (_, seed) => request(seed)))
    assert.is(answers.length, 8)
    assert.is(said.filter((one) => one.includes('top_p')).length, 1)
  })
})

test('a temperature or a nucleus that a model refuses is an error that says which key to change', async () => {
  await against(reasoningModel, async (open) => {
    const cold = await errorOf(tryOut(open({ section: 'rewardModel' }), { temperature: 0, topP: 1 }))
    assert.is(cold.code, 'model.endpoint')
    assert.match(cold.message, 'does not support 0')
    assert.match(cold.hint ?? '', 'set rewardModel.temperature to 1')
    const policy = open({ section: 'policy' })
    await tryOut(policy, { temperature: 1, topP: 1 })
    const narrow = await errorOf(policy.generate([{ ...request(1), topP: 0.9 }]))
    assert.match(narrow.hint ?? '', 'set policy.topP to 1')
    const evaluated = await errorOf(policy.generate([{ ...request(1), temperature: 0.5 }]))
    assert.match(evaluated.hint ?? '', 'evaluation.temperature to 1 or null')
  })
})

test('a temperature of 1 is left out where the field is not taken at all, another one never', async () => {
  await against(
    ({ body }, response) => {
      if (!('temperature' in body)) return plain('ok')
      const message = "Unsupported parameter: 'temperature' is not supported with this model."
      response.writeHead(400).end(JSON.stringify({ error: { message, param: 'temperature' } }))
    },
    async (open, said, asked) => {
      const endpoint = open({ section: 'adaptation' })
      assert.is((await endpoint.generate([request(1)]))[0].text, 'ok')
      await endpoint.generate([request(2)])
      assert.is(asked.length, 3)
      assert.is(said.length, 1, said.join('\n'))
      const { hint } = await errorOf(endpoint.generate([{ ...request(3), temperature: 0.7 }]))
      assert.match(hint ?? '', 'set adaptation.temperature to 1')
    },
  )
})

test('a field of the config that is refused is an error at once, with its key: it was asked for', async () => {
  for (const [changes, field, hint] of [
    [{ extraBody: { top_p: 1 } }, 'top_p', 'leave top_p out of policy.extraBody'],
    [{ extraBody: { priority: 1 } }, 'priority', 'leave priority out of policy.extraBody'],
    [{ extraBody: { 'a(b': 1 } }, 'a(b', 'leave a(b out of policy.extraBody'],
    [{ reasoningEffort: 'low' }, 'reasoning_effort', 'leave policy.reasoningEffort out'],
    [{ template: { enable_thinking: false } }, 'chat_template_kwargs', 'leave policy.template out'],
  ] as const)
    await against(
      (_, response) =>
        void response.writeHead(400).end(JSON.stringify({ error: { message: `unknown field '${field}'` } })),
      async (open, _, asked) => {
        const error = await errorOf(open({ section: 'policy', ...changes }).generate([request(1)]))
        assert.match(error.hint ?? '', hint)
        assert.is(asked.length, 1)
      },
    )
})

test('a model that thought until its tokens were spent has answered, with a text that was cut off', async () => {
  await against(reasoningModel, async (open) => {
    const endpoint = open()
    const [{ text, finish }] = await endpoint.generate([{ ...request(1), maxTokens: 2 }])
    assert.equal([text, finish], ['', 'length'])
    assert.is(endpoint.use().untrainable, 1)
    assert.equal(endpoint.use().faults, {})
  })
})

test('of a refusal that lists what the server takes only the field that it refuses is left out', async () => {
  const taken = ['model', 'messages', 'temperature', 'top_p', 'seed', 'max_tokens', 'max_completion_tokens']
  const known = [...taken, 'logprobs']
  await against(
    ({ body }, response) => {
      const unknown = Object.keys(body).find((field) => !known.includes(field))
      if (unknown === undefined) return plain('ok')
      response.writeHead(422).end(`unknown field \`${unknown}\`, expected one of ${known.join(', ')}`)
    },
    async (open, said, asked) => {
      await open().generate([request(1)])
      const left = Object.keys(asked.at(-1)!.body)
      for (const field of ['temperature', 'top_p', 'seed', 'max_tokens', 'logprobs'])
        assert.ok(left.includes(field), field)
      assert.not.ok(said.join().includes('max_completion_tokens'))
    },
  )
})

test('a refusal of what a prompt says, in its words, takes no field away from others', async () => {
  await against(
    ({ body }, response) => {
      const [{ content }] = body.messages as { content: string }[]
      if (!content.includes('bomb')) return plain('ok')
      response.writeHead(400).end(JSON.stringify({ error: { message: `not allowed: '${content}'` } }))
    },
    async (open, _, asked) => {
      const endpoint = open()
      const { code } = await errorOf(endpoint.generate([request(1, 'a seed, logprobs, temperature, bomb')]))
      assert.is(code, 'model.endpoint')
      await endpoint.generate([request(2)])
      const { body } = asked.at(-1)!
      assert.ok('seed' in body && 'logprobs' in body && 'temperature' in body)
    },
  )
})

test('a text completion knows one name of its length, and is refused once where the server wants the other', async () => {
  const message = "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."
  await against(
    (_, response) => void response.writeHead(400).end(JSON.stringify({ error: { message } })),
    async (open, _, asked) => {
      const endpoint = open({ budgetMs: 5_000 })
      const { code } = await errorOf(endpoint.generate([{ ...request(1), prompt: { text: 'Say ok.' } }]))
      assert.is(code, 'model.endpoint')
      assert.is(asked.length, 1)
    },
  )
})

test.run()
