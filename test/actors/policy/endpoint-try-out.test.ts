/** A policy behind an endpoint is tried as it will be asked, in training and in evaluations, before anything depends on it. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { openEndpointPolicy } from '../../../src/actors/policy/endpoint-worker.ts'
import { parseConfig } from '../../../src/config.ts'
import { openSetting } from '../../../src/environments/open.ts'
import { connectLog } from '../../../src/events/log-client.ts'
import { connectBus } from '../../../src/events/nats/connect.ts'
import { plain } from '../../support/against-endpoint.ts'
import { errorOf } from '../../support/error-of.ts'
import { startTestHead, type TestHead } from '../../support/run.ts'
import { startScriptedEndpoint } from '../../support/scripted-endpoint.ts'

let head: TestHead

test.before(async () => {
  head = await startTestHead()
})

test.after(() => head.close())

test('a nucleus or temperature of evaluations that the model refuses is told at the start, with its key', async () => {
  const endpoint = await startScriptedEndpoint(({ path, body }, response) => {
    if (path === '/v1/models') return { data: [] }
    const field = ['top_p', 'temperature'].find((name) => body[name] !== undefined && body[name] !== 1)
    if (field === undefined) return plain('ok')
    const error = { message: `Unsupported value: '${field}'`, param: field }
    response.writeHead(400).end(JSON.stringify({ error }))
    return undefined
  })
  const bus = await connectBus(head.addressOf('policy'))
  const log = connectLog({ bus, run: 'test', actor: 'policy' })
  try {
    for (const [evaluation, key] of [
      [{ topP: 0.9 }, 'evaluation.topP'],
      [{ temperature: 0.5 }, 'evaluation.temperature'],
    ] as const) {
      const policy = { provider: 'openai', baseUrl: endpoint.url, model: 'policy', acting: 'free' }
      const config = parseConfig({ environment: { name: 'alfworld', tasks: 4 }, policy, evaluation })
      const { learner } = await openEndpointPolicy(config, await openSetting(config), log)
      const started = learner.begin({ seed: [1, 1] }, {} as never)
      assert.match((await errorOf(started)).hint ?? '', `${key} to 1 or null`)
    }
  } finally {
    log.close()
    await bus.close()
    await endpoint.close()
  }
})

test.run()
