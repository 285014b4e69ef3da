/** Weights on their way to a server, as vLLM and as SGLang word it. */
import type { ServerResponse } from 'node:http'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { tryAdapter, weightRoutes } from '../../src/models/openai/adapters.ts'
import { against as againstEndpoint, request } from '../support/against-endpoint.ts'
import { errorOf } from '../support/error-of.ts'
import { type Asked, completion, startScriptedEndpoint } from '../support/scripted-endpoint.ts'

const WEIGHTS = { name: 'run-v1-abcdef01', path: '/runs/run/checkpoints/policy/00001' }
const signal = AbortSignal.timeout(120_000)

async function against(
  answer: (asked: Asked, response: ServerResponse) => unknown,
  use: (server: { baseUrl: string; key: string }, asked: readonly Asked[]) => Promise<void>,
): Promise<void> {
  const endpoint = await startScriptedEndpoint(answer)
  try {
    await use({ baseUrl: endpoint.url, key: 'word-of-servers' }, endpoint.asked)
  } finally {
    await endpoint.close()
  }
}

async function failure(work: Promise<unknown>): Promise<string> {
  return work.then(
    () => 'it did not fail',
    (error: Error) => error.message,
  )
}

test('SGLang loads an adapter from its root, and is called by base and adapter', async () => {
  const routes = weightRoutes({ as: 'lora', routes: 'sglang' })
  await against(
    ({ path }) =>
      path === '/v1/chat/completions'
        ? completion({ content: 'ok' }, { prompt: [1], tokens: [2] })
        : { success: true },
    async (server, asked) => {
      await routes.load(server, WEIGHTS, signal)
      const model = routes.calledBy('Qwen/Qwen3-4B')(WEIGHTS.name)
      await tryAdapter(server, model, signal)
      await routes.unload(server, WEIGHTS.name, signal)
      assert.equal(
        asked.map(({ path, body }) => [path, body.lora_name ?? body.model]),
        [
          ['/load_lora_adapter', WEIGHTS.name],
          ['/v1/chat/completions', `Qwen/Qwen3-4B:${WEIGHTS.name}`],
          ['/unload_lora_adapter', WEIGHTS.name],
        ],
      )
      assert.is(asked[0].body.lora_path, WEIGHTS.path)
      assert.is(asked[0].authorization, 'Bearer word-of-servers')
    },
  )
})

test('an adapter that SGLang has not is told as a name that the server does not know', async () => {
  const message =
    'The following requested LoRA adapters are not loaded: run-v1-abcdef01\nLoaded adapters: dict_keys([]).'
  await againstEndpoint(
    (_, response) =>
      void response
        .writeHead(400)
        .end(JSON.stringify({ object: 'error', message, type: 'BadRequestError', param: null, code: 400 })),
    async (open, _, asked) => {
      const error = await errorOf(open({ model: 'Qwen/Qwen3-4B:run-v1-abcdef01' }).generate([request(1)]))
      assert.is(error.code, 'model.not-found')
      assert.match(error.message, /adapters are not loaded: run-v1-abcdef01/)
      assert.is(asked.length, 1)
    },
  )
})

test('SGLang takes whole weights in the place of those that it has', async () => {
  const routes = weightRoutes({ as: 'model', routes: 'sglang' })
  await against(
    () => ({ success: true, message: 'Succeeded to update model weights.' }),
    async (server, asked) => {
      await routes.load(server, WEIGHTS, signal)
      await routes.unload(server, WEIGHTS.name, signal)
      assert.equal(
        asked.map(({ path, body }) => [path, body.model_path]),
        [['/update_weights_from_disk', WEIGHTS.path]],
      )
      assert.is(routes.calledBy('base')(WEIGHTS.name), 'base')
    },
  )
})

test('a failure that is answered with 200 is a failure; the key is in no message', async () => {
  for (const as of ['lora', 'model'] as const) {
    const routes = weightRoutes({ as, routes: 'sglang' })
    await against(
      () => ({ success: false, error_message: 'rank 64 is too high for word-of-servers' }),
      async (server) => {
        const message = await failure(routes.load(server, WEIGHTS, signal))
        assert.match(message, /rank 64/)
        assert.not.match(message, /word-of-servers/)
      },
    )
  }
  const vllm = weightRoutes({ as: 'lora', routes: 'vllm' })
  await against(
    (_, response) => void response.writeHead(404).end('{"detail":"Not Found"}'),
    async (server, asked) => {
      const refused = await errorOf(vllm.load(server, WEIGHTS, signal))
      assert.match(refused.message, /status 404/)
      assert.is(refused.hint, 'the server must allow loading at run time')
      assert.is(asked[0].path, '/v1/load_lora_adapter')
      await vllm.unload(server, WEIGHTS.name, signal)
    },
  )
})

test('a server that names what it does not find is not said to allow no loading', () =>
  against(
    (_, response) => void response.writeHead(404).end('{"message":"No adapter found for /runs/a"}'),
    async (server) => {
      const { load } = weightRoutes({ as: 'lora', routes: 'vllm' })
      assert.is((await errorOf(load(server, WEIGHTS, signal))).hint, undefined)
    },
  ))

test('what is there already counts as loaded, and what is gone as unloaded', async () => {
  for (const [routes, said, gone] of [
    ['vllm', { message: 'The lora adapter has already been loaded.' }, {}],
    [
      'sglang',
      { success: false, error_message: 'LoRA adapter already loaded' },
      { success: false, error_message: 'not found' },
    ],
  ] as const) {
    const { load, unload } = weightRoutes({ as: 'lora', routes })
    await against(
      ({ path }, response) => {
        const loading = path.endsWith('/load_lora_adapter') && !path.includes('unload')
        response.writeHead(loading ? 400 : 404).end(JSON.stringify(loading ? said : gone))
      },
      async (server) => {
        await load(server, WEIGHTS, signal)
        await unload(server, WEIGHTS.name, signal)
      },
    )
  }
})

test.run()
