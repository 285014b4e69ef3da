/**
 * A model for the bench of the gateway. It answers after the time in the request, with 64 tokens, their ids
 * and log-probs. `GET /v1/most` says how many requests it had at once.
 */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

const TOKENS = 64
const tokens = Array.from({ length: TOKENS }, (_, i) => 1000 + i)
const answer = Buffer.from(
  JSON.stringify({
    id: 'chatcmpl-bench',
    object: 'chat.completion',
    created: 1,
    model: 'bench',
    prompt_token_ids: Array.from({ length: 256 }, (_, i) => i),
    choices: [
      {
        index: 0,
        message: { role: 'assistant', content: 'word '.repeat(TOKENS) },
        finish_reason: 'stop',
        logprobs: {
          content: tokens.map(() => ({ token: 'word', logprob: -0.1234567, bytes: null, top_logprobs: [] })),
        },
        token_ids: tokens,
      },
    ],
    usage: { prompt_tokens: 256, completion_tokens: TOKENS, total_tokens: 256 + TOKENS },
  }),
)

let [now, most] = [0, 0]

const server = createServer({ keepAliveTimeout: 120_000 }, (request, response) => {
  if (request.method === 'GET') return response.end(JSON.stringify({ most }))
  most = Math.max(most, ++now)
  response.once('close', () => now--)
  const parts: Buffer[] = []
  request.on('data', (part: Buffer) => parts.push(part))
  request.on('end', () => {
    const [, delayMs] = /"user":"(\d+)"/.exec(Buffer.concat(parts).toString()) ?? []
    setTimeout(() => {
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': answer.byteLength })
      response.end(answer)
    }, Number(delayMs))
  })
})
server.listen({ port: 0, host: '127.0.0.1', backlog: 8192 }, () => {
  process.stdout.write(`http://127.0.0.1:${(server.address() as AddressInfo).port}/v1\n`)
})
