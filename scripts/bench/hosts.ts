/**
 * One head with more and more hosts, simulated: 8 slots each, 400 ms and 12 events a rollout, durable appends. All share one machine.
 *
 * npm run -s bench -- hosts [--hosts 1,2,4,8,64] [--seconds 10] [--rounds 3]
 */
import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { availableParallelism, loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable, Writable } from 'node:stream'
import { parseArgs } from 'node:util'
import { pause } from '../../src/clock.ts'
import { EVENTS_A_ROLLOUT } from './hosts/rollout-events.ts'
import { median, percentile, report } from './report.ts'

const { values: flags } = parseArgs({
  args: process.argv.slice(3),
  options: {
    hosts: { type: 'string', default: '1,2,4,8,64' },
    seconds: { type: 'string', default: '10' },
    rounds: { type: 'string', default: '3' },
  },
})

const SLOTS = 8
const PLAY_MS = 400
const WARM_MS = 2_000
/** One process of Node would be the limit of many hosts. */
const HOSTS_A_PROCESS = 32
const GOALS: Readonly<Record<number, string>> = { 8: '>= 0.9', 64: '>= 0.7' }

type Helper = { readonly ask: (line: string) => Promise<unknown>; readonly end: () => Promise<void> }
type HeadFigures = { readonly cpuUs: number; readonly position: number }
type PlayerFigures = { readonly done: number; readonly waits: readonly number[]; readonly cpuUs: number }

type Round = {
  /** Rollouts a second. */
  readonly rate: number
  readonly headUs: number
  readonly waits: readonly number[]
  /** Shares of one core. */
  readonly headCores: number
  readonly playerCores: number
  readonly load: number
}

const root = mkdtempSync(join(tmpdir(), 'rl-bench-'))
try {
  for (const hosts of flags.hosts.split(',').map(Number)) await bench(hosts)
} finally {
  rmSync(root, { recursive: true, force: true })
}

async function bench(hosts: number): Promise<void> {
  const rounds: Round[] = []
  for (let round = 0; round < Number(flags.rounds); round++) rounds.push(await play(hosts, round))
  const n = rounds.length
  const of = (value: (round: Round) => number) => median(rounds.map(value))
  const ideal = (hosts * SLOTS * 1_000) / PLAY_MS
  const load = of(({ load }) => load).toFixed(1)
  const shares = `head ${of(({ headCores }) => headCores).toFixed(2)} and hosts ${of(({ playerCores }) => playerCores).toFixed(2)} of ${availableParallelism()} cores`
  const note = `${SLOTS} slots a host, ${PLAY_MS} ms and ${EVENTS_A_ROLLOUT} events a rollout; ${shares}; load ${load}`
  const suite = 'hosts'
  report({
    suite,
    name: `rollouts_${hosts}_per_s`,
    value: of(({ rate }) => rate),
    unit: 'rollouts/s',
    goal: null,
    n,
    note,
  })
  report({
    suite,
    name: `efficiency_${hosts}`,
    value: of(({ rate }) => rate) / ideal,
    unit: 'of the ideal rate',
    goal: GOALS[hosts] ?? null,
    n,
    note,
  })
  report({
    suite,
    name: `head_us_per_event_${hosts}`,
    value: of(({ headUs }) => headUs),
    unit: 'us',
    goal: hosts === 64 ? '<= 30' : null,
    n,
    note,
  })
  report({
    suite,
    name: `append_${hosts}_p99_ms`,
    value: of(({ waits }) => percentile(waits, 0.99)),
    unit: 'ms',
    goal: null,
    n,
    note,
  })
}

/** A head of its own for each round, so none has a longer log than another. */
async function play(hosts: number, round: number): Promise<Round> {
  const env = { ...process.env, RL_RUNS: join(root, `${hosts}-${round}`) }
  const head = await startHelper(['scripts/bench/hosts/head.ts'], env)
  const players: Helper[] = []
  try {
    for (let from = 0; from < hosts; from += HOSTS_A_PROCESS) {
      const count = Math.min(HOSTS_A_PROCESS, hosts - from)
      const words = [`p${from}`, String(count), String(SLOTS), String(PLAY_MS)]
      players.push(await startHelper(['scripts/bench/hosts/players.ts', ...words], env))
    }
    await pause(WARM_MS)
    const before = await figures(head, players)
    const began = performance.now()
    await pause(Number(flags.seconds) * 1_000)
    const after = await figures(head, players)
    const ms = performance.now() - began
    const load = loadavg()[0] ?? 0
    return {
      rate: ((after.done - before.done) / ms) * 1_000,
      headUs: (after.head.cpuUs - before.head.cpuUs) / (after.head.position - before.head.position),
      waits: after.waits,
      headCores: (after.head.cpuUs - before.head.cpuUs) / ms / 1_000,
      playerCores: (after.cpuUs - before.cpuUs) / ms / 1_000,
      load,
    }
  } finally {
    for (const helper of [...players, head]) await helper.end()
    rmSync(env.RL_RUNS, { recursive: true, force: true })
  }
}

async function figures(head: Helper, players: readonly Helper[]) {
  const own = (await head.ask('figures')) as HeadFigures
  const all = (await Promise.all(players.map(({ ask }) => ask('figures')))) as PlayerFigures[]
  return {
    head: own,
    done: all.reduce((sum, { done }) => sum + done, 0),
    cpuUs: all.reduce((sum, { cpuUs }) => sum + cpuUs, 0),
    waits: all.flatMap(({ waits }) => waits),
  }
}

/** Resolves when it has printed its first line. */
async function startHelper(words: readonly string[], env: NodeJS.ProcessEnv): Promise<Helper> {
  const child: ChildProcessByStdio<Writable, Readable, null> = spawn(
    process.execPath,
    [...process.execArgv, ...words],
    { stdio: ['pipe', 'pipe', 'inherit'], env },
  )
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  await lines.next()
  return {
    async ask(line) {
      child.stdin.write(`${line}\n`)
      return JSON.parse((await lines.next()).value ?? 'null')
    },
    async end() {
      child.stdin.end()
      await ended
    },
  }
}
