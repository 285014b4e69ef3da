/** Games that openenv's own client plays at a server of ours, and the steps a second beside a server of the package. */
import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { fileURLToPath } from 'node:url'
import { WebSocket } from 'ws'
import { itemAt } from '../../src/item-at.ts'

const GAMES = 20
const SESSIONS = 8
/** Rounds of the measurement. Both servers are asked in turn in each. */
const ROUNDS = 5
const ROUND_MS = 2_000
const START_MS = 300_000
const CLIENT = fileURLToPath(new URL('openenv_client.py', import.meta.url))
const ECHO = fileURLToPath(new URL('echo_server.py', import.meta.url))

export type Played = { readonly won: number; readonly sessions: number; readonly ratio: number }

/** @param python a Python with openenv */
export async function playByClient(python: string): Promise<Played> {
  const token = randomBytes(24).toString('base64url')
  const [port, echoPort] = [await freePort(), await freePort()]
  const words = ['openenv', 'serve', '--setting', 'alfworld', '--port', String(port), '--references']
  const keys = [`environment.tasks=${GAMES}`, 'environment.maxSteps=100'].flatMap((one) => ['--set', one])
  const children = [
    start(
      process.execPath,
      ['--conditions=rlanything-source', 'bin/launch.mjs', 'src/rl.ts', ...words, ...keys],
      {
        RL_OPENENV_TOKEN: token,
      },
    ),
    start(python, [ECHO, String(echoPort), String(SESSIONS)]),
  ]
  const [ours, theirs] = [`http://127.0.0.1:${port}`, `http://127.0.0.1:${echoPort}`]
  try {
    await Promise.all([healthy(ours), healthy(theirs)])
    const won = await gamesWon(python, ours, token)
    const rates: { ours: number[]; theirs: number[] } = { ours: [], theirs: [] }
    for (let round = 0; round < ROUNDS; round++) {
      rates.ours.push(await stepsPerSecond(ours, token))
      rates.theirs.push(await stepsPerSecond(theirs, null))
    }
    const [fast, slow] = [median(rates.ours), median(rates.theirs)]
    process.stdout.write(`ours ${fast.toFixed(0)} steps/s, echo server ${slow.toFixed(0)} steps/s\n`)
    return { won, sessions: SESSIONS, ratio: fast / slow }
  } finally {
    await Promise.all(children.map(end))
  }
}

function start(program: string, words: readonly string[], env: NodeJS.ProcessEnv = {}): ChildProcess {
  return spawn(program, words, { env: { ...process.env, ...env }, stdio: ['ignore', 'ignore', 'inherit'] })
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  child.kill('SIGINT')
  await once(child, 'exit')
}

async function gamesWon(python: string, url: string, token: string): Promise<number> {
  const child = spawn(python, [CLIENT, url, String(GAMES), String(SESSIONS)], {
    env: { ...process.env, RL_OPENENV_TOKEN: token },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let said = ''
  child.stdout.on('data', (part) => {
    said += part
  })
  await once(child, 'close')
  process.stdout.write(`openenv's client: ${said}`)
  return Number(/won=(\d+)/.exec(said)?.[1] ?? 0)
}

/** Steps of all sessions together. Each session waits for an answer before it goes on. */
async function stepsPerSecond(url: string, token: string | null): Promise<number> {
  const until = Date.now() + ROUND_MS
  const counts = await Promise.all(
    Array.from({ length: SESSIONS }, (_, seed) => walk(url, token, seed, until)),
  )
  return (counts.reduce((sum, count) => sum + count, 0) * 1000) / ROUND_MS
}

type Reply = {
  readonly type: string
  readonly data: {
    readonly done?: boolean
    readonly observation?: { readonly admissible?: readonly string[] }
  }
}

/** Takes admissible actions in turn, and resets at the end of a game. Resolves to the number of steps in time. */
function walk(url: string, token: string | null, seed: number, until: number): Promise<number> {
  const headers = token === null ? {} : { authorization: `Bearer ${token}` }
  const socket = new WebSocket(`${url.replace('http', 'ws')}/ws`, { headers })
  let steps = 0
  const ask = (type: string, data: object) => socket.send(JSON.stringify({ type, data }))
  return new Promise((resolve, reject) => {
    socket.on('error', reject)
    socket.on('close', () => resolve(steps))
    socket.on('open', () => ask('reset', { seed }))
    socket.on('message', (text) => {
      const { type, data } = JSON.parse(String(text)) as Reply
      if (type === 'error') return reject(new Error(String(text)))
      if (Date.now() > until) return socket.close()
      if (data.done) return ask('reset', { seed })
      const { admissible = [] } = data.observation ?? {}
      const at = (steps++ * 7 + seed) % Math.max(1, admissible.length)
      ask('step', { action: admissible.length > 0 ? itemAt(admissible, at) : 'a word to repeat' })
    })
  })
}

async function healthy(url: string): Promise<void> {
  const end = Date.now() + START_MS
  for (;;) {
    const answer = await fetch(`${url}/health`).catch(() => null)
    if (answer?.ok) return
    if (Date.now() > end) throw new Error(`${url} did not start`)
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer()
    server.once('error', reject)
    server.listen(0, '127.0.0.1', () => {
      const address = server.address()
      server.close(() => resolve(typeof address === 'object' && address ? address.port : 0))
    })
  })
}

const median = (values: readonly number[]): number =>
  itemAt(
    values.toSorted((a, b) => a - b),
    Math.floor(values.length / 2),
  )
