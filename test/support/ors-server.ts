/** An ORS server for tests: count to a number, and tools that pay. It can break each rule of the protocol. */
import { randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { bodyOf, type LocalServer, listenLocally } from './local-server.ts'

export const ORS_ATTACKS = [
  'hang',
  'die',
  'flood',
  'endless-event',
  'large',
  'no-json',
  'no-end',
  'other-version',
  'lie-reward',
  'lie-finished',
  'lie-blocks',
  'execution',
  'error-500',
  'gone',
  'hang-end',
] as const
type Attack = (typeof ORS_ATTACKS)[number]

export type OrsServer = LocalServer & {
  /** Number of sessions that were not deleted. */
  readonly sessions: () => number
}

type Options = {
  /** Kind of break, at the first call of `add`. */
  readonly attack?: Attack
  readonly key?: string
  /** What is named twice. */
  readonly twice?: 'tool' | 'task'
  /** More tools, of 200 actions each. */
  readonly more?: number
}

type Body = {
  readonly start?: number
  readonly stop?: number
  readonly task_spec?: { readonly to?: number }
  readonly secrets?: Readonly<Record<string, string>>
  readonly name?: string
  readonly input?: { readonly by?: number; readonly name?: string }
}

type State = { count: number; readonly goal: number; readonly secrets: Readonly<Record<string, string>> }

const LARGE = 100_000_000
/** Characters of a piece of a result. */
const PIECE = 16

const by = { type: 'integer', minimum: 1, maximum: 3 }
const TOOLS = [
  {
    name: 'add',
    description: 'Adds to the count. Reaching the goal pays 1, going beyond it ends without.',
    input_schema: { type: 'object', properties: { by }, required: ['by'] },
  },
  { name: 'look', description: 'Tells the count. It pays nothing.', input_schema: null },
]
const TASK_TOOLS = [
  {
    name: 'secret',
    description: 'Tells a secret.',
    input_schema: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] },
  },
]
const wide = (count: number) =>
  Array.from({ length: count }, (_, index) => ({
    name: `wide-${index}`,
    input_schema: {
      type: 'object',
      properties: { at: { type: 'integer', minimum: 1, maximum: 200 } },
      required: ['at'],
    },
  }))
const TASKS = [3, 4, 5].map((goal) => ({ id: `count-${goal}`, goal: `count to ${goal}`, to: goal }))

export async function startOrsServer({ attack, key, twice, more = 0 }: Options = {}): Promise<OrsServer> {
  const sessions = new Map<string, State | null>()

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const send = (value: unknown, status = 200) => {
      response.writeHead(status, { 'content-type': 'application/json' })
      response.end(JSON.stringify(value))
    }
    if (key !== undefined && request.headers['x-api-key'] !== key) return void send({ detail: 'no key' }, 401)
    const text = await bodyOf(request)
    const body: Body = text === '' ? {} : JSON.parse(text)
    const id = String(request.headers['x-session-id'] ?? '')
    const state = sessions.get(id)
    switch (request.url) {
      case '/health':
        return void send({ status: 'ok' })
      case '/list_environments':
        return void send(['counting'])
      case '/counting/splits':
        return void send([{ name: 'train', type: 'train' }])
      case '/counting/num_tasks':
        return void send({ num_tasks: TASKS.length })
      case '/counting/task_range':
        return void send({
          tasks: twice === 'task' ? [...TASKS, ...TASKS] : TASKS.slice(body.start, body.stop),
        })
      case '/create_session': {
        const made = randomUUID()
        sessions.set(made, null)
        return void stream(response, [
          ['task_id', made],
          ['end', ''],
        ])
      }
      case '/create':
        if (state !== null) return void send({ detail: 'unknown session' }, 404)
        sessions.set(id, { count: 0, goal: Number(body.task_spec?.to ?? 3), secrets: body.secrets ?? {} })
        return void send({ sid: id })
      case '/delete_session':
        sessions.delete(id)
        return void send({ sid: id })
      case '/delete':
        if (attack === 'hang-end') return
        return void send({ sid: id })
    }
    if (!state) return void send({ detail: 'Active environment not found' }, 404)
    switch (request.url) {
      case '/ping':
        return void send({ status: 'ok' })
      case '/counting/task_tools':
        return void send({ tools: [...TOOLS, ...(twice === 'tool' ? TOOLS : TASK_TOOLS), ...wide(more)] })
      case '/counting/prompt':
        return void send([
          { type: 'text', text: `Count to ${state.goal}.`, detail: null },
          { type: 'image', data: 'AAAA', mimeType: 'image/png', detail: null },
        ])
      case '/counting/call':
        if (attack && body.name === 'add') return void misbehave(response, attack, send)
        return void pieces(response, JSON.stringify(call(state, body.name ?? '', body.input ?? {})))
      default:
        return void send({ detail: 'unknown' }, 404)
    }
  }

  const server = createServer((request, response) => void answer(request, response))
  return { ...(await listenLocally(server)), sessions: () => sessions.size }
}

const output = (text: string, reward: unknown, finished: unknown) => ({
  ok: true,
  output: { blocks: [{ type: 'text', text }], reward, finished, metadata: null },
})

function call(state: State, name: string, input: { by?: number; name?: string }): object {
  if (name === 'look') return output(`the count is ${state.count}`, null, false)
  if (name === 'secret') return output(state.secrets[input.name ?? ''] ?? 'nothing', null, false)
  if (name !== 'add') return { ok: false, error: `'${name}' is not a valid tool` }
  state.count += input.by ?? 0
  const isOver = state.count >= state.goal
  return output(`the count is ${state.count}`, state.count === state.goal ? 1 : 0, isOver)
}

type Event = readonly [event: string, data: string]

function stream(response: ServerResponse, events: readonly Event[]): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  response.write(': ping\r\n\r\n')
  response.end(events.map(([event, data]) => `event: ${event}\r\ndata: ${data}\r\n\r\n`).join(''))
}

function pieces(response: ServerResponse, text: string): void {
  const parts = text.match(new RegExp(`.{1,${PIECE}}`, 'gs')) ?? ['']
  stream(response, [
    ['task_id', 'one'],
    ...parts.map((part, index): Event => [index === parts.length - 1 ? 'end' : 'chunk', part]),
  ])
}

function misbehave(
  response: ServerResponse,
  attack: Attack,
  send: (value: unknown, status: number) => void,
): void {
  const open = () => response.writeHead(200, { 'content-type': 'text/event-stream' })
  switch (attack) {
    case 'hang':
    case 'hang-end':
      return
    case 'die':
      return void response.destroy()
    case 'flood':
      return void open().write('event: chunk\ndata: x\n\n'.repeat(600_000))
    case 'endless-event':
      return void open().write(`event: chunk\ndata: ${'x'.repeat(LARGE)}`)
    case 'large':
      return void pieces(response, JSON.stringify(output('x'.repeat(LARGE / 10), 0, false)))
    case 'no-json':
      return void stream(response, [['end', '<html>']])
    case 'no-end':
      return void stream(response, [['chunk', '{"ok": true']])
    case 'other-version':
      return void stream(response, [['result', '{}']])
    case 'lie-reward':
      return void pieces(response, JSON.stringify(output('right', 1e9, true)))
    case 'lie-finished':
      return void pieces(response, JSON.stringify(output('right', 1, 'perhaps')))
    case 'lie-blocks':
      return void pieces(
        response,
        JSON.stringify({ ok: true, output: { blocks: 7, reward: 1, finished: true } }),
      )
    case 'execution':
      return void stream(response, [['error', 'it fell over']])
    case 'error-500':
      return void send({ detail: 'ValueError: it fell over' }, 500)
    case 'gone':
      return void send({ detail: 'Session deleted' }, 410)
  }
}
