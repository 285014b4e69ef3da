/**
 * Overhead of the gateway on a call of the model, with 1,000 calls in flight, and its memory with 5,000.
 * Model, gateway and agents are processes of their own. The model is called directly and through the gateway
 * in the same run. Then 16,000 calls are in flight at a gateway of their own. RL_BENCH_CALLS changes the number of calls of each of
 * the 1,000, and RL_BENCH_MOST the 16,000.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { Agent, request as httpRequest } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { z } from 'zod'
import { runFolder } from '../../src/broker/connection.ts'
import { openLogReader } from '../../src/events/log-reader.ts'
import { type Rng, rng, seedOf } from '../../src/random.ts'
import { percentile, report } from './report.ts'

const IN_FLIGHT = 1_000
const CALLS_EACH = Number(process.env.RL_BENCH_CALLS ?? 6)
const MANY = 5_000
const MOST = Number(process.env.RL_BENCH_MOST ?? 16_000)
if (![CALLS_EACH, MOST].every((count) => Number.isInteger(count) && count > 0))
  throw new Error('RL_BENCH_CALLS and RL_BENCH_MOST are whole numbers above 0')
/** Memory of the gateway with at least so many calls has a goal. */
const GOAL_CALLS = 16_000
/** A gateway ends within this time, or it failed. */
const END_MS = 60_000
const TOKEN = 'bench-token-of-the-gateway'

const root = mkdtempSync(join(tmpdir(), 'rl-bench-gateway-'))
const children: ChildProcess[] = []
/** Idle connections are closed before the servers close them. */
const agent = new Agent({ keepAlive: true, maxFreeSockets: 16_384, timeout: 30_000 })

function start(words: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const child = spawn(process.execPath, [...words], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, RL_RUNS: root, ...env },
  })
  children.push(child)
  const url = new Promise<string>((resolve, reject) => {
    let said = ''
    child.stdout.on('data', (part) => {
      said += part
      const found = /http:\S+/.exec(said)
      if (found) resolve(found[0])
    })
    child.once('exit', () => reject(new Error(`${words[0]} ended: ${said}`)))
  })
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  return { child, url, ended }
}

function post(url: string, key: string, body: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const headers = {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(body),
      authorization: `Bearer ${key}`,
    }
    const sent = httpRequest(url, { method: 'POST', agent, headers }, (answer) => {
      const parts: Buffer[] = []
      answer.on('data', (part: Buffer) => parts.push(part))
      answer.on('error', reject)
      answer.on('end', () => {
        const text = Buffer.concat(parts).toString()
        if ((answer.statusCode ?? 0) < 300) resolve(text)
        else reject(new Error(`${url}: ${answer.statusCode} ${text.slice(0, 200)}`))
      })
    })
    sent.on('error', reject)
    sent.end(body)
  })
}

type Lane = { readonly url: string; readonly key: string; readonly outcome: string | null }

/** Returns a call of about 2 kB. The stand-in answers after `delayMs`. */
function bodyOf(delayMs: number, turn: number): string {
  const messages = Array.from({ length: 4 }, (_, i) => ({
    role: i % 2 === 0 ? 'user' : 'assistant',
    content: `turn ${turn} message ${i} ${'text '.repeat(90)}`,
  }))
  return JSON.stringify({ model: 'bench', messages, max_tokens: 64, user: String(delayMs) })
}

/**
 * Each lane makes one call after the other. All lanes run at once, and begin at different times. Resolves to
 * the overheads beside the delays, in ms.
 */
async function call(lanes: readonly Lane[], calls: number, random: Rng): Promise<number[]> {
  const over: number[] = []
  const plans = lanes.map((lane) => ({
    lane,
    startMs: random.below(2_000),
    delays: Array.from({ length: calls }, () => 1_000 + random.below(2_000)),
  }))
  await Promise.all(
    plans.map(async ({ lane, startMs, delays }) => {
      await new Promise((resolve) => setTimeout(resolve, startMs))
      for (const [turn, delayMs] of delays.entries()) {
        const body = bodyOf(delayMs, turn)
        const startedMs = performance.now()
        await post(`${lane.url}/chat/completions`, lane.key, body)
        // The first call of a lane opens its connections.
        if (turn > 0) over.push(performance.now() - startedMs - delayMs)
      }
    }),
  )
  return over
}

async function claim(gateway: string, count: number, name: string): Promise<Lane[]> {
  const lanes: Lane[] = []
  for (let at = 0; at < count; at += 50)
    lanes.push(
      ...(await Promise.all(
        Array.from({ length: Math.min(50, count - at) }, async (_, i) => {
          const task = { id: `${name}-${at + i}`, goal: 'say words' }
          const body = JSON.stringify({ agent: 'bench', task })
          const taken = JSON.parse(await post(`${gateway}/rollouts`, TOKEN, body))
          return { url: taken.url, key: taken.key, outcome: taken.outcome_url } as Lane
        }),
      )),
    )
  return lanes
}

async function finish(lanes: readonly Lane[]): Promise<void> {
  for (let at = 0; at < lanes.length; at += 50)
    await Promise.all(
      lanes.slice(at, at + 50).map(({ outcome, key }) => post(outcome!, key, '{"success":true}')),
    )
}

/** Processor time that a process has used, in ms. */
function processorMs(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1].split(' ')
  // User and system time in ticks of 10 ms: fields 14 and 15 of the line.
  return (Number(fields[11]) + Number(fields[12])) * 10
}

function memory(pid: number, field: 'VmHWM' | 'VmRSS'): number {
  const text = readFileSync(`/proc/${pid}/status`, 'utf8')
  return Number(new RegExp(`${field}:\\s+(\\d+) kB`).exec(text)?.[1]) / 1024
}

function startGateway(run: string, upstream: string, more: readonly string[] = []) {
  const words = ['gateway', '--record', '--run', run, '--upstream', upstream, '--model', 'bench']
  return start(['src/rl.ts', ...words, '--port', '0', '--deadline', '900', ...more], {
    RL_GATEWAY_TOKEN: TOKEN,
  })
}

async function end({ child, ended }: ReturnType<typeof start>): Promise<void> {
  child.kill('SIGINT')
  const late = AbortSignal.timeout(END_MS)
  const over = await Promise.race([ended, once(late, 'abort').then(() => 'late')])
  if (over === 'late') throw new Error(`the gateway did not end within ${END_MS / 1000} s`)
}

function loggedOf(run: string): { readonly trajectories: number; readonly steps: number } {
  const log = openLogReader(runFolder(run, root).log)
  const found = [...log.events({ types: ['TrajectoryCompleted'] })].map(({ data }) => data.steps)
  log.close()
  return { trajectories: found.length, steps: found.reduce((sum, steps) => sum + steps, 0) }
}

/** Connections of the gateway for a call: the agent's and the model's, and some room. */
const FILES_A_CALL = 2.1

/** Most files that a process here may have open. Node raises its own limit to it. */
function openFiles(): number {
  return Number(/^Max open files\s+\S+\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1])
}

/**
 * As many calls as users may have: each is answered and logged, and the gateway's memory has a bound. Fewer are made if fewer files
 * may be open.
 */
async function most(upstream: string): Promise<void> {
  const files = openFiles()
  const calls = Math.min(MOST, Math.floor(files / FILES_A_CALL / 100) * 100)
  if (calls < MOST) {
    const needed = Math.ceil(FILES_A_CALL * MOST)
    process.stdout.write(
      `SKIP lost_${MOST}, rss_${MOST}_mb: ${files} files may be open, and ${needed} are needed; ${calls} calls are made\n`,
    )
  }
  const limits = ['--max-calls', String(calls), '--call-deadline', '300']
  const gateway = startGateway('most', upstream, limits)
  const lanes = await claim(await gateway.url, calls, 'most')
  // The last call arrives before the first is answered.
  const delayMs = 30_000 + 3 * calls
  const answers = await Promise.allSettled(
    lanes.map(({ url, key }) => post(`${url}/chat/completions`, key, bodyOf(delayMs, 0))),
  )
  const peak = memory(gateway.child.pid!, 'VmHWM')
  await finish(lanes)
  await end(gateway)
  const answered = answers.filter(({ status }) => status === 'fulfilled').length
  const { steps } = loggedOf('most')
  const { most: together } = z
    .object({ most: z.number() })
    .parse(await (await fetch(`${upstream}/most`)).json())
  const note = `${calls} calls, ${together} in flight at once, ${answered} answered, ${steps} in the log`
  const row = (name: string, value: number, unit: string, goal: string | null) =>
    report({ suite: 'gateway', name, value, unit, goal, n: calls, note })
  row(`lost_${calls}`, calls - Math.min(answered, steps), 'calls', '0')
  row(`rss_${calls}_mb`, peak, 'MB', calls < GOAL_CALLS ? null : '<= 1536')
}

try {
  const upstream = await start(['scripts/bench/gateway/upstream.ts']).url
  const gateway = startGateway('bench', upstream)
  const url = await gateway.url

  const direct = Array.from(
    { length: IN_FLIGHT },
    (): Lane => ({ url: upstream, key: 'none', outcome: null }),
  )
  const lanes = await claim(url, IN_FLIGHT, 'lane')
  // Both warm: the first seconds compile.
  await call(direct.slice(0, 200), 2, rng(seedOf(1, 'warm')))
  await call(lanes.slice(0, 200), 2, rng(seedOf(1, 'warm')))
  const before = await call(direct, CALLS_EACH, rng(seedOf(1, 'calls')))
  const usedMs = processorMs(gateway.child.pid!)
  const through = await call(lanes, CALLS_EACH, rng(seedOf(1, 'calls')))
  const processor = (processorMs(gateway.child.pid!) - usedMs) / (IN_FLIGHT * CALLS_EACH)
  const after = await call(direct, CALLS_EACH, rng(seedOf(1, 'calls')))
  await finish(lanes)
  // On a busy machine this says more than the clock.
  report({
    suite: 'gateway',
    name: 'processor_ms',
    value: processor,
    unit: 'ms',
    goal: null,
    n: IN_FLIGHT * CALLS_EACH,
    note: "of the gateway's process, a call",
  })
  const alone = [...before, ...after]
  const of = `${IN_FLIGHT} in flight, ${Math.round(IN_FLIGHT / 2)} calls a second`
  for (const [name, share, goal] of [
    ['overhead_p50_ms', 0.5, '<= 1'],
    ['overhead_p99_ms', 0.99, '< 10'],
  ] as const) {
    const [with_, without] = [percentile(through, share), percentile(alone, share)]
    report({
      suite: 'gateway',
      name,
      value: with_ - without,
      unit: 'ms',
      goal,
      n: through.length,
      note: `${of}; ${with_.toFixed(2)} ms over the model's own time through the gateway, ${without.toFixed(2)} ms directly`,
    })
  }

  const many = await claim(url, MANY, 'many')
  await call(many, 1, rng(seedOf(2, 'many')))
  const together = many.map(async ({ url: base, key }) =>
    post(`${base}/chat/completions`, key, bodyOf(15_000, 1)),
  )
  await Promise.all(together)
  const peak = memory(gateway.child.pid!, 'VmHWM')
  await finish(many)
  report({
    suite: 'gateway',
    name: 'rss_5000_mb',
    value: peak,
    unit: 'MB',
    goal: '< 1024',
    n: 1,
    note: `most that the gateway's process ever had; ${MANY} calls in flight at once, all answered`,
  })

  await end(gateway)
  const { trajectories, steps } = loggedOf('bench')
  const expected = 200 * 2 + IN_FLIGHT * CALLS_EACH + MANY * 2
  report({
    suite: 'gateway',
    name: 'calls_lost',
    value: expected - steps,
    unit: 'calls',
    goal: '0',
    n: expected,
    note: `${trajectories} trajectories with ${steps} steps in the log`,
  })
  await most(upstream)
} finally {
  for (const child of children) child.kill('SIGKILL')
  agent.destroy()
  rmSync(root, { recursive: true, force: true })
}
