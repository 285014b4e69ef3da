/** An OpenAI-compatible endpoint on loopback that answers as it is told, and keeps what it was asked. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { type AddressInfo, createServer as createTcpServer } from 'node:net'

export type Asked = {
  readonly path: string
  readonly authorization: string | undefined
  readonly body: Record<string, unknown>
  /** The body as it came. */
  readonly text: string
}

export type ScriptedEndpoint = {
  /** Base URL with `/v1`. */
  readonly url: string
  readonly asked: readonly Asked[]
  readonly close: () => Promise<void>
}

export async function startScriptedEndpoint(
  answer: (asked: Asked, response: ServerResponse, index: number) => unknown,
): Promise<ScriptedEndpoint> {
  const asked: Asked[] = []
  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const parts: Buffer[] = []
    for await (const part of request) parts.push(part as Buffer)
    const text = Buffer.concat(parts).toString()
    const one: Asked = {
      path: request.url ?? '',
      authorization: request.headers.authorization,
      body: text === '' ? {} : JSON.parse(text),
      text,
    }
    asked.push(one)
    const value = await answer(one, response, asked.length - 1)
    if (value === undefined) return
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(value))
  }
  const server = createServer((request, response) => {
    handle(request, response).catch(() => response.destroy())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    asked,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

/** One that writes its bytes as they are, whatever HTTP makes of them. */
export async function startRawEndpoint(answer: () => string): Promise<Omit<ScriptedEndpoint, 'asked'>> {
  const server = createTcpServer((socket) => {
    socket.on('error', () => {})
    socket.once('data', () => socket.end(answer()))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    close: () => new Promise((resolve) => server.close(() => resolve())),
  }
}

/** A completion with token ids and log-probs as vLLM gives them. */
export function completion(
  message: Record<string, unknown>,
  { prompt, tokens }: { readonly prompt: readonly number[]; readonly tokens: readonly number[] },
): unknown {
  return {
    id: 'chatcmpl-1',
    object: 'chat.completion',
    created: 1,
    model: 'scripted',
    prompt_token_ids: prompt,
    choices: [
      {
        index: 0,
        message: { role: 'assistant', ...message },
        finish_reason: 'tool_calls' in message ? 'tool_calls' : 'stop',
        logprobs: { content: tokens.map((token) => ({ token: String(token), logprob: -token / 8 })) },
        token_ids: tokens,
      },
    ],
    usage: {
      prompt_tokens: prompt.length,
      completion_tokens: tokens.length,
      total_tokens: prompt.length + tokens.length,
    },
  }
}

/** The same as a stream of events: text a character at a time, arguments of tools in two parts. */
export function completionEvents(whole: unknown): string[] {
  type Whole = {
    prompt_token_ids: number[]
    choices: {
      message: {
        content?: string | null
        tool_calls?: { id: string; function: { name: string; arguments: string } }[]
      }
      finish_reason: string
      logprobs: { content: unknown[] }
      token_ids: number[]
    }[]
  }
  const { prompt_token_ids, choices } = whole as Whole
  const [{ message, finish_reason, logprobs, token_ids }] = choices
  const chunk = (delta: object, more: object = {}, top: object = {}) => ({
    id: 'chatcmpl-1',
    object: 'chat.completion.chunk',
    created: 1,
    model: 'scripted',
    choices: [{ index: 0, delta, finish_reason: null, ...more }],
    ...top,
  })
  const calls = (message.tool_calls ?? []).flatMap(({ id, function: { name, arguments: text } }, index) => [
    chunk({ tool_calls: [{ index, id, type: 'function', function: { name, arguments: '' } }] }),
    chunk({ tool_calls: [{ index, function: { arguments: text.slice(0, 3) } }] }),
    chunk({ tool_calls: [{ index, function: { arguments: text.slice(3) } }] }),
  ])
  const chunks = [
    chunk({ role: 'assistant', content: '' }, {}, { prompt_token_ids }),
    ...[...(message.content ?? '')].map((content) => chunk({ content })),
    ...calls,
    chunk({}, { finish_reason, logprobs, token_ids }),
  ]
  return [...chunks.map((one) => `data: ${JSON.stringify(one)}\n\n`), 'data: [DONE]\n\n']
}
