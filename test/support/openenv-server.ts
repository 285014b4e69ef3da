/** An OpenEnv server for tests: guess a number from 0 to 9. It can break each rule of the protocol. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { type LocalServer, listenLocally } from './local-server.ts'
import { acceptSockets, type Handlers, type Peer } from './websocket-server.ts'

export const ATTACKS = [
  'hang',
  'die',
  'flood',
  'nonsense',
  'no-json',
  'large',
  'lie-reward',
  'lie-done',
  'other-version',
  'execution',
] as const
type Attack = (typeof ATTACKS)[number]

export type GuessOptions = {
  /** Kind of break, at the first step of each session. */
  readonly attack?: Attack
  readonly maxSessions?: number
  /** Number of tasks of the split `train`. Absent: there is no task API. */
  readonly tasks?: number
  /** Draws the number by chance, whatever the seed. */
  readonly byChance?: boolean
}

export type GuessServer = LocalServer & {
  /** Number of open sessions. */
  readonly sessions: () => number
}

const LARGE = 100_000_000

export async function startGuessServer(options: GuessOptions = {}): Promise<GuessServer> {
  const { maxSessions = 64 } = options
  const open = new Set<Peer>()
  const server = createServer((request, response) => {
    const parts: Buffer[] = []
    request.on('data', (part: Buffer) => parts.push(part))
    request.on('end', () => answer(request, response, Buffer.concat(parts).toString(), options))
  })
  acceptSockets(server, (peer) => {
    if (open.size >= maxSessions) {
      peer.send(error('CAPACITY_REACHED', `${open.size} of ${maxSessions} sessions`))
      peer.close()
      return { message() {} }
    }
    open.add(peer)
    return { ...game(peer, options), closed: () => void open.delete(peer) }
  })
  const { url, close } = await listenLocally(server)
  return {
    url,
    sessions: () => open.size,
    close() {
      for (const { socket } of open) socket.destroy()
      return close()
    },
  }
}

const error = (code: string, message: string) => JSON.stringify({ type: 'error', data: { code, message } })
const observation = (text: string, reward: number | null, done: boolean) =>
  JSON.stringify({ type: 'observation', data: { observation: { text, metadata: {} }, reward, done } })

function game(peer: Peer, { attack, byChance }: GuessOptions): Handlers {
  let secret = 0
  return {
    message(text) {
      const { type, data } = JSON.parse(text) as { type: string; data?: Record<string, unknown> }
      if (type === 'close') return void peer.close()
      if (type === 'reset') {
        const chance = byChance ? Math.floor(Math.random() * 1e6) : 0
        secret = byChance ? chance % 10 : (Number(data?.seed ?? 0) * 7 + 3) % 10
        return void peer.send(observation(byChance ? `guess ${chance}` : 'guess 0..9', null, false))
      }
      if (type !== 'step') return void peer.send(error('UNKNOWN_TYPE', type))
      if (attack) return void misbehave(peer, attack)
      const guess = data?.guess
      if (typeof guess !== 'number')
        return void peer.send(error('VALIDATION_ERROR', 'guess: a number is missing'))
      const right = guess === secret
      peer.send(observation(right ? 'right' : guess < secret ? 'higher' : 'lower', right ? 1 : 0, right))
    },
  }
}

function misbehave(peer: Peer, attack: Attack): void {
  switch (attack) {
    case 'hang':
      return
    case 'die':
      return void peer.socket.destroy()
    case 'flood':
      for (let count = 0; count < 10_000; count++) peer.send(observation('again and again', 0, false))
      return
    case 'nonsense':
      return void peer.send('[1, 2, 3]')
    case 'no-json':
      return void peer.send('<html>')
    case 'large':
      return void peer.send(observation('x'.repeat(LARGE), 0, false))
    case 'lie-reward':
      return void peer.send(observation('right', 1e9, true))
    case 'lie-done':
      return void peer.send(
        JSON.stringify({ type: 'observation', data: { observation: {}, reward: 'much', done: 7 } }),
      )
    case 'other-version':
      return void peer.send(JSON.stringify({ type: 'step_result', payload: {} }))
    case 'execution':
      return void peer.send(error('EXECUTION_ERROR', 'it fell over'))
  }
}

const ACTION = {
  type: 'object',
  properties: { guess: { type: 'integer', minimum: 0, maximum: 9 }, metadata: { type: 'object' } },
  required: ['guess'],
}

function answer(
  request: IncomingMessage,
  response: ServerResponse,
  body: string,
  { tasks }: GuessOptions,
): void {
  const send = (status: number, value: unknown) => {
    response.writeHead(status, { 'content-type': 'application/json' })
    response.end(JSON.stringify(value))
  }
  const url = request.url ?? ''
  if (url === '/health') return void send(200, { status: 'healthy' })
  if (url === '/schema') return void send(200, { action: ACTION, observation: {}, state: {} })
  if (tasks === undefined) return void send(501, { detail: 'no tasks' })
  const { start = 0, stop = 0 } = body === '' ? {} : JSON.parse(body)
  const all = Array.from({ length: tasks }, (_, index) => ({
    id: `guess-${index}`,
    goal: 'guess it',
    seed: index,
  }))
  if (url === '/list_environments') return void send(200, ['guess'])
  if (url === '/guess/splits') return void send(200, [{ name: 'train', type: 'train' }])
  if (url === '/guess/num_tasks') return void send(200, { num_tasks: tasks })
  if (url === '/guess/task_range') return void send(200, { tasks: all.slice(start, stop) })
  send(404, { detail: 'unknown' })
}
