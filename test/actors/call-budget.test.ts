/** Calls that are paid for: never more than the config allows, however many processes make them and however often they restart. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { callBudgetOf } from '../../src/actors/learner/call-budget.ts'
import { endpointOf } from '../../src/actors/learner/endpoint.ts'
import type { RlError } from '../../src/errors.ts'
import { connectLog } from '../../src/events/log-client.ts'
import { connectBus } from '../../src/events/nats/connect.ts'
import { providerOf } from '../../src/models/registry.ts'
import { startTestHead } from '../support/run.ts'
import { startScriptedEndpoint } from '../support/scripted-endpoint.ts'
import { smallConfig } from './loop.ts'

test('two processes and a restart of each make no more calls than allowed, and the log is told', async () => {
  const head = await startTestHead()
  const faulty = await startScriptedEndpoint((_, response) => {
    response.writeHead(503, { 'retry-after': '0' }).end('{}')
  })
  const section = { provider: 'openai', model: 'judge', baseUrl: faulty.url, maxCalls: 7 }
  const config = smallConfig({ rewardModel: section })
  const { rewardModel } = config
  const provider = providerOf(rewardModel, config)
  const codes: unknown[] = []
  for (let restart = 0; restart < 2; restart++)
    await Promise.all(
      (['reward-model', 'reward-model-worker'] as const).map(async (user) => {
        const bus = await connectBus(head.addressOf(user))
        const log = connectLog({ bus, run: 'test', actor: 'reward-model' })
        const calls = callBudgetOf(log, 'reward-model', rewardModel.expert.maxCalls)
        const calling = { budgetSeconds: 60, callSeconds: 60, calls }
        const model = await endpointOf('rewardModel', rewardModel, provider, calling)
        const prompt = { messages: [{ role: 'user' as const, content: 'good?' }] }
        await model
          .generate([{ prompt, maxTokens: 1, temperature: 0, seed: [0, 0] }])
          .catch((error: RlError) => codes.push(error.code))
        await model.close()
        log.close()
        await bus.close()
      }),
    )
  assert.equal(codes, Array(4).fill('model.budget-spent'))
  assert.is(faulty.asked.length, 7)
  const told = [...head.log.events({ types: ['WorkFailed'] })]
  assert.ok(
    told.every(({ type, data }) => type === 'WorkFailed' && !data.goesOn && /7 calls/.test(data.error)),
  )
  await faulty.close()
  await head.close()
})

test.run()
