/** A language model of your own. This one needs no weights: it draws an action by the seed, and finds a step good where something happened. */
import type { GenerateRequest, Generation, PromptProvider } from 'rlanything/models'

function answer({ prompt, seed }: GenerateRequest): Generation {
  const said = 'messages' in prompt ? prompt.messages.at(-1)?.content : ''
  // Of a model that sees, messages are parts with images among them.
  const text = typeof said === 'string' ? said : ''
  const options = text.match(/^\d+\) /gm) ?? []
  const box = options.length > 0 ? (seed[0] >>> 0) % options.length : /Nothing happens/.test(text) ? -1 : 1
  return {
    text: `\\boxed{${box}}`,
    finish: 'stop',
    // Without ids and log-probs of its tokens nothing can be learned from an answer.
    tokens: null,
    logprobs: null,
    promptTokens: null,
    usage: { promptTokens: 0, cachedTokens: 0, completionTokens: 0 },
  }
}

export const modelProviders: readonly PromptProvider[] = [
  {
    name: 'by-chance',
    version: 1,
    // What it is opened with: the section's `model`, `baseUrl`, key, prices, and how long its asker waits.
    open: () => ({
      generate: async (requests) => requests.map(answer),
      close: async () => {},
    }),
  },
]
