/** `rl serve` of a tiny model whose tokens are bytes, and a gateway before it: what clients of other makers speak to. */

import { recordRun } from '../../src/gateway/start.ts'
import { openLocalModel } from '../../src/models/local/model.ts'
import { presetConfig } from '../../src/models/local/presets.ts'
import { startModelServer } from '../../src/models/local/server.ts'
import { createTokenizer } from '../../src/models/local/tokenizer.ts'
import { byteTokenizer } from './byte-tokenizer.ts'

export type Rollout = {
  readonly url: string
  readonly outcome_url: string
  readonly key: string
  readonly rollout: string
}

export async function startGatewayOnModel(run: string) {
  const files = byteTokenizer()
  const { size: vocabSize, endToken } = createTokenizer(files)
  const config = presetConfig('nano', { vocabSize, contextTokens: 1024, endToken })
  const model = await openLocalModel({ config, tokenizer: files, seed: 1, backend: 'wasm' })
  const server = await startModelServer(model, { name: 'tiny' })
  process.env.RL_TEST_CLIENTS_WORD = server.token
  const gateway = await recordRun({
    ...{ run, target: { baseUrl: server.url, model: 'tiny' }, keyEnv: 'RL_TEST_CLIENTS_WORD' },
    ...{ deadlineSeconds: 600, callSeconds: 60, maxRolloutCalls: 100 },
  })
  return {
    server,
    async take(id: string): Promise<Rollout> {
      const { url, token } = gateway.server
      const answer = await fetch(`${url}/rollouts`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body: JSON.stringify({ agent: 'client', task: { id, goal: 'answer' } }),
      })
      return (await answer.json()) as Rollout
    },
    async close() {
      await gateway.close()
      await server.close()
      await model.close()
    },
  }
}
