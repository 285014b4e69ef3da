/** An endpoint's model against a scripted server on loopback. */
import type { ServerResponse } from 'node:http'
import { openEndpoint } from '../../src/models/openai.ts'
import type { GenerateRequest } from '../../src/models/port.ts'
import type { ModelOptions } from '../../src/models/provider.ts'
import { type Asked, startScriptedEndpoint } from './scripted-endpoint.ts'

/** The key that the endpoint is asked with. */
export const SECRET = 'word-that-nobody-may-read'
process.env.RL_TEST_ODD_WORD = SECRET

/** Opens an endpoint that answers by a script, and keeps what people are told of it and what it was asked. */
export async function against(
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
          ...{ model: 'scripted', baseUrl: endpoint.url, apiKeyEnv: 'RL_TEST_ODD_WORD', concurrency: 8 },
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

export const request = (seed: number, content = 'hi'): GenerateRequest => ({
  ...{ prompt: { messages: [{ role: 'user', content }] }, maxTokens: 4, temperature: 1, seed: [seed, 0] },
})

/** An answer without token ids and log-probs, as hosted servers give it. */
export const plain = (content: string, more: object = {}) => ({
  model: 'scripted',
  choices: [{ message: { role: 'assistant', content }, finish_reason: 'stop' }],
  ...more,
})
