/** Types of `rlanything/models`. `tsc --noEmit` is the test: an expected error that does not come is an error. */
import type { GenerateRequest, Generation, LossOptions, Prompt, PromptProvider } from 'rlanything/models'

declare const answer: (request: GenerateRequest) => Generation

export const provider: PromptProvider = {
  name: 'by-chance',
  version: 1,
  open: ({ model, concurrency }) => ({
    generate: async (requests) => requests.slice(0, model === '' ? 0 : concurrency).map(answer),
    close: async () => {},
  }),
}

// @ts-expect-error a provider opens a model
export const closed: PromptProvider = { name: 'by-chance', version: 1 }

export const late: PromptProvider = {
  ...provider,
  // @ts-expect-error answers come with a promise
  open: () => ({ generate: (requests) => requests.map(answer), close: async () => {} }),
}

// @ts-expect-error a prompt is tokens, a text or messages
export const prompt: Prompt = { question: 'why?' }

export const messages: Prompt = {
  // @ts-expect-error nobody else speaks in a chat
  messages: [{ role: 'teacher', content: 'why?' }],
}

// @ts-expect-error a policy's loss has its bounds
export const loss: LossOptions = { kind: 'policy', clipLow: 0.2 }
