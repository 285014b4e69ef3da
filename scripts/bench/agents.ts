/**
 * `rl train` on a released model and an agent of a common SDK (examples/agents/ai-sdk): what it gains on tasks that it
 * never trained on, how soon it says something, and how much of the time is neither the model's nor the agent's.
 *
 *   BENCH_MODEL=FOLDER|FILE|NAME BENCH_MINUTES=15 BENCH_SEEDS=1,2,3 npm run -s bench -- agents
 */
import { spawn, spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { openLogReader } from '../../src/events/log-reader.ts'
import { BUILT, build } from '../build.ts'
import { AGENTS, changeOf, linesChanged } from '../example/lines-changed.ts'
import { type Project, projectWithBuild } from '../example/project.ts'
import { median, report } from './report.ts'

const SMOLLM2 = '../shared/data/smollm2/SmolLM2-135M-Instruct.Q4_1.gguf'
const AGENT = 'ai-sdk'
const INSTALL_MS = 300_000

const model = process.env.BENCH_MODEL ?? SMOLLM2
const minutes = Number(process.env.BENCH_MINUTES ?? 15)
const seeds = (process.env.BENCH_SEEDS ?? '1,2,3').split(',').map(Number)

type Trained = {
  readonly gain: number
  readonly low: number
  readonly high: number
  readonly before: number
  readonly after: number
  /** Seconds until the first line about the run. */
  readonly firstLine: number
  readonly overhead: number
}

if (process.env.BENCH_MODEL === undefined && !existsSync(model)) {
  process.stdout.write('SKIP agents: BENCH_MODEL names no model\n')
} else {
  for (const folder of BUILT) if (folder === '.' || !existsSync(join(folder, 'dist'))) build(folder)
  const project = projectWithBuild()
  try {
    const lacking = install(project)
    if (lacking !== null) process.stdout.write(`SKIP agents: ${lacking}\n`)
    else await measure(project)
  } finally {
    project.remove()
  }
}

async function measure(project: Project): Promise<void> {
  const trained: Trained[] = []
  for (const seed of seeds) trained.push(await train(seed, project))
  const row = (name: string, value: number, unit: string, goal: string, note: string) =>
    report({ suite: 'agents', name, value, unit, goal, n: trained.length, note })
  const each = trained.map(
    ({ before, after, gain, low, high }) =>
      `${before.toFixed(2)} to ${after.toFixed(2)}: ${gain.toFixed(0)} [${low.toFixed(0)}, ${high.toFixed(0)}]`,
  )
  row(
    'agents_gain_points',
    median(trained.map(({ gain }) => gain)),
    'points',
    '>= 15',
    `held-out success, ${AGENT}, ${minutes} minutes a seed; ${each.join('; ')}`,
  )
  row(
    'agents_gain_low_points',
    median(trained.map(({ low }) => low)),
    'points',
    '> 0',
    'low end of its interval',
  )
  row(
    'agents_first_line_s',
    median(trained.map(({ firstLine }) => firstLine)),
    's',
    '<= 20',
    'from the command to the plan of the run, with the built package',
  )
  row(
    'agents_overhead_share',
    median(trained.map(({ overhead }) => overhead)),
    'share',
    '<= 0.05',
    'time of the run in which no rollout is open and no update is made',
  )
  row('agents_lines_changed', linesChanged(changeOf(AGENT)), 'lines', '<= 5', `of examples/agents/${AGENT}`)
}

/** Returns why the SDK could not be had, or null. */
function install({ folder, env }: Project): string | null {
  const words = ['install', '--no-audit', '--no-fund', '--ignore-scripts', '--loglevel=error']
  const options = { cwd: join(folder, AGENTS), env, encoding: 'utf8', timeout: INSTALL_MS } as const
  const { status, error, stderr } = spawnSync('npm', words, options)
  return status === 0 ? null : `${error?.message ?? stderr}`.trim().split('\n')[0]
}

async function train(seed: number, { folder, env }: Project): Promise<Trained> {
  const run = `agents-${seed}`
  const words = [
    ...['train', join(AGENTS, AGENT, 'agent.ts'), '--tasks', join(AGENTS, 'tasks.jsonl')],
    ...['--grade', join(AGENTS, 'grade.ts'), '--model', existsSync(model) ? resolve(model) : model],
    ...['--minutes', String(minutes), '--seed', String(seed), '--run', run, '--json'],
  ]
  const started = performance.now()
  const child = spawn(join(folder, 'node_modules', '.bin', 'rl'), words, {
    cwd: folder,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let [firstLine, out] = [0, '']
  child.stdout.on('data', (part: Buffer) => {
    out += part
  })
  createInterface({ input: child.stderr }).on('line', (line) => {
    if (firstLine === 0 && line.startsWith('  run ')) firstLine = (performance.now() - started) / 1000
    if (/^(iteration|evaluation|reward|policy)/.test(line)) process.stderr.write(`seed ${seed}: ${line}\n`)
  })
  const status = await new Promise<number | null>((resolve) => child.once('close', resolve))
  if (status !== 0) throw new Error(`rl train ended with ${status}: ${out.slice(-1_000)}`)
  const { proof } = JSON.parse(out) as {
    proof: { before: number; after: number; difference: { value: number; low: number; high: number } }
  }
  const { value, low, high } = proof.difference
  return {
    ...{ gain: 100 * value, low: 100 * low, high: 100 * high, before: proof.before, after: proof.after },
    firstLine,
    overhead: overheadOf(join(folder, 'runs', run, 'events.db')),
  }
}

/** Returns the share of a run's time, from its first rollout on, in which nothing is played and nothing is trained. */
function overheadOf(path: string): number {
  const log = openLogReader(path)
  try {
    const open = new Map<string, number>()
    const busy: [from: number, to: number][] = []
    let [first, last] = [Number.POSITIVE_INFINITY, 0]
    for (const { type, data, time } of log.events()) {
      last = Math.max(last, time)
      if (type === 'RolloutClaimed') {
        first = Math.min(first, time)
        open.set(data.rollout, time)
      } else if (type === 'TrajectoryCompleted' || type === 'RolloutFailed') {
        busy.push([open.get(data.rollout) ?? time, time])
      } else if (type === 'PolicyUpdated' && data.version > 0) {
        busy.push([time - Number(data.timing?.durationMs ?? 0), time])
      }
    }
    return 1 - covered(busy, first) / (last - first)
  } finally {
    log.close()
  }
}

/** Returns the length of the union of intervals after a time. */
function covered(intervals: readonly (readonly [from: number, to: number])[], after: number): number {
  let [sum, until] = [0, after]
  for (const [from, to] of [...intervals].sort(([a], [b]) => a - b)) {
    if (to <= until) continue
    sum += to - Math.max(from, until)
    until = to
  }
  return sum
}
