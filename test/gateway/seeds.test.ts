/** Calls draw with the seed of their rollout, so that a task is measured alike before a training and after. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { agentCalls } from '../../src/gateway/calls.ts'
import type { Assignment } from '../../src/gateway/open-rollout.ts'
import { openRollouts } from '../../src/gateway/rollouts.ts'
import { startGatewayServer } from '../../src/gateway/server.ts'
import { openUpstream } from '../../src/gateway/upstream.ts'
import { startScriptedEndpoint } from '../support/scripted-endpoint.ts'

/** Returns the `seed_words` that the endpoint gets of two calls and of one with a seed of the agent's own. */
async function seedsOf(seed: readonly [number, number], isLocal: boolean): Promise<readonly unknown[]> {
  const endpoint = await startScriptedEndpoint(() => ({
    choices: [{ message: { role: 'assistant', content: 'hi' }, finish_reason: 'stop' }],
  }))
  const target = { baseUrl: endpoint.url, model: 'scripted' }
  const rollouts = openRollouts()
  const upstream = openUpstream({ key: null, callMs: 60_000 })
  const targetOf = () => target
  const calls = agentCalls({
    ...{ upstream, targetOf, isLocal },
    clean: (text) => text,
    onFault() {},
    onUntold() {},
  })
  const assignment = {
    request: { rollout: '1/a/0', task: 'a', seed, maxSteps: 6, policyVersion: 0 },
    task: { id: 'a', environment: 'agents', kind: 'talk', goal: 'talk', recipe: {} },
    deadlineMs: 300_000,
    claimed() {},
    finish: async () => {},
  } as unknown as Assignment
  const source = { take: async () => assignment, giveBack() {} }
  const server = await startGatewayServer({ source, rollouts, calls, targetOf })
  const post = async (url: string, key: string, body: unknown) =>
    (
      await fetch(url, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}` },
        body: JSON.stringify(body),
      })
    ).json() as Promise<{ readonly url: string; readonly key: string }>
  const { url, key } = await post(`${server.url}/rollouts`, server.token, {})
  const messages = [{ role: 'user', content: 'hi' }]
  for (const own of [{}, {}, { seed: 7 }]) await post(`${url}/chat/completions`, key, { messages, ...own })
  await server.close(1_000)
  await rollouts.stop(true)
  upstream.close()
  await endpoint.close()
  return endpoint.asked.map(({ body }) => (body as { readonly seed_words?: unknown }).seed_words)
}

test('each call has a seed of its rollout and its number, unless the agent names one', async () => {
  const [first, second, own] = await seedsOf([1, 2], true)
  assert.is(own, undefined)
  for (const seed of [first, second]) assert.is((seed as number[]).length, 2)
  assert.not.equal(first, second)
  assert.equal(await seedsOf([1, 2], true), [first, second, undefined])
  assert.not.equal((await seedsOf([1, 3], true))[0], first)
})

test('an endpoint that knows no such seeds gets none', async () => {
  assert.equal(await seedsOf([1, 2], false), [undefined, undefined, undefined])
})

test.run()
