/** The counter as an MCP server by streamable HTTP. It can break each rule. */
import { randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { createCounter } from './counter-tools.mjs'
import { bodyOf, type LocalServer, listenLocally } from './local-server.ts'

export const HTTP_ATTACKS = [
  'hang',
  'die',
  'flood',
  'pings',
  'no-json',
  'large',
  'endless-event',
  'other-type',
  'refuse',
  'hang-end',
] as const
type Attack = (typeof HTTP_ATTACKS)[number]

export type CounterServer = LocalServer & {
  /** Number of sessions that were not ended. */
  readonly sessions: () => number
}

type Options = {
  /** Kind of break, at the first call of `add`. */
  readonly attack?: Attack
  /** Whether answers come as streams of events. */
  readonly events?: boolean
  /** The token without which it answers nothing. */
  readonly token?: string
  /** Whether it speaks the protocol of 2026-07-28 alone, which knows no sessions. */
  readonly modern?: boolean
}

const MODERN = '2026-07-28'

const LARGE = 100_000_000

export async function startCounterServer({
  attack,
  events,
  token,
  modern = false,
}: Options = {}): Promise<CounterServer> {
  const alone = createCounter()
  const sessions = new Map<string, ReturnType<typeof createCounter>>()

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const status = (code: number) => void response.writeHead(code).end()
    if (token !== undefined && request.headers.authorization !== `Bearer ${token}`) return void status(401)
    const id = String(request.headers['mcp-session-id'] ?? '')
    if (request.method === 'DELETE') {
      sessions.delete(id)
      if (attack !== 'hang-end') status(200)
      return
    }
    if (request.method !== 'POST') return void status(405)
    const message = JSON.parse(await bodyOf(request))
    if (attack === 'pings' && message.method === undefined) return
    if (modern) return void answerModern(response, message, alone)
    if (message.method === 'initialize') {
      const made = randomUUID()
      sessions.set(made, createCounter())
      response.setHeader('mcp-session-id', made)
    }
    const counter = sessions.get(String(response.getHeader('mcp-session-id') ?? id))
    if (!counter) return void status(404)
    if (attack && message.params?.name === 'add') return void misbehave(response, attack)
    const said = counter(message)
    if (!said) return void status(202)
    const text = JSON.stringify({ jsonrpc: '2.0', ...said })
    response.writeHead(200, { 'content-type': events ? 'text/event-stream' : 'application/json' })
    response.end(events ? `event: message\ndata: ${text}\n\n` : text)
  }

  const server = createServer((request, response) => void answer(request, response))
  const { url, close } = await listenLocally(server)
  return {
    url: `${url}/mcp`,
    sessions: () => sessions.size,
    close,
  }
}

type Counter = ReturnType<typeof createCounter>
type Asked = Parameters<Counter>[0]

/** Answers as the revision of 2026-07-28 says: each request stands alone, and an older handshake is refused. */
function answerModern(response: ServerResponse, message: Asked, counter: Counter): void {
  const tell = (code: number, said: object) =>
    response
      .writeHead(code, { 'content-type': 'application/json' })
      .end(JSON.stringify({ jsonrpc: '2.0', id: message.id, ...said }))
  const shared = { resultType: 'complete', ttlMs: 0, cacheScope: 'private' }
  switch (message.method) {
    case 'server/discover':
      return void tell(200, {
        result: { supportedVersions: [MODERN], capabilities: { tools: {} }, ...shared },
      })
    case 'tools/list':
    case 'tools/call': {
      const said: { readonly result?: object } = counter(message) ?? {}
      return void tell(200, said.result ? { ...said, result: { ...said.result, ...shared } } : said)
    }
    default:
      return void tell(400, { error: { code: -32022, message: 'Unsupported protocol version' } })
  }
}

function misbehave(response: ServerResponse, attack: Attack): void {
  const open = (type: string) => response.writeHead(200, { 'content-type': type })
  switch (attack) {
    case 'hang':
    case 'hang-end':
      return
    case 'die':
      return void response.destroy()
    case 'flood': {
      open('text/event-stream')
      const note = { jsonrpc: '2.0', method: 'notifications/message', params: { level: 'info', data: '!' } }
      return void response.write(`data: ${JSON.stringify(note)}\n\n`.repeat(100_000))
    }
    case 'pings': {
      // It asks without end, and answers to no answer.
      open('text/event-stream')
      const asks = 'data: {"jsonrpc": "2.0", "id": "a", "method": "ping"}\n\n'.repeat(100)
      const more = () => void (response.destroyed || response.write(asks, () => setImmediate(more)))
      return void more()
    }
    case 'no-json':
      return void open('application/json').end('<html>')
    case 'large':
      return void open('application/json').end(`"${'x'.repeat(LARGE)}"`)
    case 'endless-event':
      return void open('text/event-stream').write(`data: ${'x'.repeat(LARGE)}`)
    case 'other-type':
      return void open('text/html').end('<html>')
    case 'refuse':
      return void response.writeHead(500).end('it fell over')
  }
}
