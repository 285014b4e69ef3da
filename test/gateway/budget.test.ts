/** Calls of agents are taken from the budget of the run's policy, and those that it does not allow never reach the endpoint. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { callBudgetOf } from '../../src/actors/learner/call-budget.ts'
import { connectLog } from '../../src/events/log-client.ts'
import { connectBus } from '../../src/events/nats/connect.ts'
import { agentCalls } from '../../src/gateway/calls.ts'
import { openRollouts } from '../../src/gateway/rollouts.ts'
import { startGatewayServer } from '../../src/gateway/server.ts'
import { agentsOwn } from '../../src/gateway/source.ts'
import { openUpstream } from '../../src/gateway/upstream.ts'
import { smallConfig } from '../actors/loop.ts'
import { startTestHead } from '../support/run.ts'
import { startScriptedEndpoint } from '../support/scripted-endpoint.ts'

test('agents make no more calls than policy.maxCalls allows, and the log is told', async () => {
  const head = await startTestHead()
  const endpoint = await startScriptedEndpoint(() => ({
    choices: [{ message: { role: 'assistant', content: 'hi' }, finish_reason: 'stop' }],
  }))
  const bus = await connectBus(head.addressOf('environment-worker'))
  const log = connectLog({ bus, run: 'test', actor: 'environment/gateway' })
  const target = { baseUrl: endpoint.url, model: 'scripted' }
  const config = smallConfig({ policy: { provider: 'openai', ...target, maxCalls: 2 } })
  const rollouts = openRollouts()
  const upstream = openUpstream({ key: null, callMs: 60_000 })
  const targetOf = () => target
  const permit = callBudgetOf(log, 'environment', config.policy.expert.maxCalls)?.spend
  const calls = agentCalls({ upstream, targetOf, permit, clean: (text) => text, onFault() {}, onUntold() {} })
  const task = { id: 'a', environment: 'agents', kind: 'talk', goal: 'talk', recipe: {} }
  const tasks = [{ slot: 'train/0', split: 'train', index: 0, total: 1, task }] as const
  const source = agentsOwn({ log, seed: 1, deadlineMs: 300_000, maxCalls: 6, tasks, requests: [] })
  const server = await startGatewayServer({ source, rollouts, calls, targetOf })

  const post = (url: string, key: string, body: unknown) =>
    fetch(url, { method: 'POST', headers: { authorization: `Bearer ${key}` }, body: JSON.stringify(body) })
  const taken = await post(`${server.url}/rollouts`, server.token, {
    agent: 'test',
    task: task.id,
  })
  assert.is(taken.status, 201, await taken.clone().text())
  const { url, key } = (await taken.json()) as { url: string; key: string }
  const answers = []
  for (let call = 0; call < 4; call++)
    answers.push(await post(`${url}/chat/completions`, key, { messages: [{ role: 'user', content: 'hi' }] }))
  assert.equal(
    answers.map(({ status }) => status),
    [200, 200, 403, 403],
  )
  assert.match(await answers[3].text(), /the 2 calls that policy\.maxCalls allows are spent/)
  assert.is(endpoint.asked.length, 2)
  assert.equal(
    [...head.log.events({ types: ['WorkFailed'] })].map(({ data }) => 'goesOn' in data && data.goesOn),
    [false],
  )
  await server.close(1_000)
  await rollouts.stop(true)
  upstream.close()
  log.close()
  await bus.close()
  await head.close()
  await endpoint.close()
})

test.run()
