/**
 * A real run, as a user starts it: seconds an iteration by stage, tokens, memory of all processes, and the
 * share of an iteration in which nothing works. The trace of its last iteration shows what overlaps: a
 * picture on standard error, spans as JSON.
 *
 * npm run -s bench -- loop [--iterations 5] [--workers 1,4] [--set KEY=VALUE]
 */
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { runFolder } from '../../src/broker/connection.ts'
import { openLogReader } from '../../src/events/log-reader.ts'
import { ALL_PARTS } from '../../test/support/processes.ts'
import { type Sample, watchProcesses } from './loop/processes.ts'
import { type IterationTimes, intersection, iterationTimes, lengthOf, STAGES, union } from './loop/stages.ts'
import { median, report } from './report.ts'

const { values: flags } = parseArgs({
  args: process.argv.slice(3),
  options: {
    iterations: { type: 'string', default: '5' },
    workers: { type: 'string', default: '1,4' },
    set: { type: 'string', multiple: true, default: [] },
  },
})

/** Width of the picture. */
const COLUMNS = 72

for (const [index, workers] of flags.workers.split(',').map(Number).entries())
  await measureRun(workers, index)

/** Names of the first number of workers are plain. */
async function measureRun(workers: number, index: number): Promise<void> {
  const root = mkdtempSync(join(tmpdir(), 'rl-bench-loop-'))
  try {
    const samples = await play(root, workers)
    const log = openLogReader(runFolder('bench', root).log)
    const all = iterationTimes(log)
    log.close()
    // The first iteration warms caches and compilers up.
    const iterations = all.length > 1 ? all.slice(1) : all
    tell(
      iterations,
      samples,
      `${workers} rollout worker${workers === 1 ? '' : 's'}`,
      index > 0 ? `_workers_${workers}` : '',
    )
    trace(iterations[iterations.length - 1], samples, workers)
  } finally {
    rmSync(root, { recursive: true, force: true })
  }
}

async function play(root: string, workers: number): Promise<readonly Sample[]> {
  const settings = [
    `run.iterations=${flags.iterations}`,
    `run.workers.environment=${workers}`,
    'evaluation.splits=[]',
    ...flags.set,
  ]
  const head = spawn(
    process.execPath,
    [
      ...['src/main.ts', '--role', 'head', '--run', 'bench', ...ALL_PARTS],
      ...settings.flatMap((setting) => ['--set', setting]),
    ],
    { stdio: ['ignore', 'ignore', 'inherit'], env: { ...process.env, RL_RUNS: root } },
  )
  const { samples, stop } = watchProcesses(head.pid ?? 0)
  const status = await new Promise((resolve) => head.once('exit', resolve))
  stop()
  if (status !== 0) throw new Error(`the run ended with status ${status}`)
  return samples
}

function tell(
  iterations: readonly IterationTimes[],
  samples: readonly Sample[],
  note: string,
  suffix: string,
): void {
  const n = iterations.length
  const say = (
    name: string,
    unit: string,
    goal: string | null,
    pick: (one: IterationTimes) => number,
    more = '',
  ) =>
    report({
      suite: 'loop',
      name: `${name}${suffix}`,
      value: median(iterations.map(pick)),
      unit,
      goal,
      n,
      note: `${note}${more}`,
    })
  const seconds = ({ span: [from, to] }: IterationTimes) => (to - from) / 1000

  say('iteration_s', 's', '<= 2.5', seconds, `, ${iterations[0].rollouts} rollouts and more with candidates`)
  for (const stage of STAGES)
    say(`${stage.replaceAll(/[ -]/g, '_')}_s`, 's', null, ({ busy }) => lengthOf(busy[stage]) / 1000)
  say(
    'judging_overlap_share',
    '1',
    null,
    ({ busy }) => lengthOf(intersection(busy.rollouts, busy.judging)) / Math.max(1, lengthOf(busy.judging)),
    '; of judging, while rollouts were played',
  )
  say(
    'orchestration_share',
    '1',
    '< 0.02',
    (one) => 1 - lengthOf(union(STAGES.flatMap((stage) => one.busy[stage]))) / (seconds(one) * 1000),
    '; of an iteration, nobody plays, judges or trains',
  )
  for (const role of ['head', 'nats-server', 'environment', 'policy', 'reward-model', 'adapter'])
    say(`cpu_${role.replace('-', '_')}_s`, 's', null, ({ span }) => cpuWithin(samples, role, span))
  for (const kind of ['generated', 'fed', 'trained'] as const)
    say(`tokens_${kind}`, 'tokens an iteration', null, ({ tokens }) => tokens[kind])
  say('judged_steps', 'steps an iteration', null, ({ judgedSteps }) => judgedSteps)
  const peak = samples.reduce((a, b) => (b.rss > a.rss ? b : a))
  const parts = Object.entries(peak.rssOf).map(([role, bytes]) => `${role} ${(bytes / 2 ** 20).toFixed(0)}`)
  report({
    suite: 'loop',
    name: `rss_total_mb${suffix}`,
    value: peak.rss / 2 ** 20,
    unit: 'MiB',
    goal: '<= 1200',
    n: samples.length,
    note: `${note}, peak of all processes together, cold start or its cache included; largest process of each role: ${parts.join(', ')}`,
  })
}

function cpuWithin(samples: readonly Sample[], role: string, [from, to]: readonly [number, number]): number {
  const at = (timeMs: number) => samples.findLast((sample) => sample.timeMs <= timeMs)?.cpu[role] ?? 0
  return at(to) - at(from)
}

function trace({ iteration, span, busy }: IterationTimes, samples: readonly Sample[], workers: number): void {
  const [from, to] = span
  const seconds = (ms: number) => Number(((ms - from) / 1000).toFixed(3))
  process.stdout.write(
    `${JSON.stringify({
      suite: 'loop',
      name: 'trace',
      workers,
      iteration,
      seconds: seconds(to),
      spans: Object.fromEntries(
        STAGES.map((stage) => [stage, busy[stage].map(([start, end]) => [seconds(start), seconds(end)])]),
      ),
    })}\n`,
  )
  const column = (ms: number) => Math.min(COLUMNS - 1, Math.floor((COLUMNS * (ms - from)) / (to - from)))
  const lines = STAGES.map((stage) => {
    const cells = Array.from({ length: COLUMNS }, () => ' ')
    for (const [start, end] of busy[stage]) cells.fill('#', column(start), column(end) + 1)
    return `${stage.padEnd(20)} |${cells.join('')}|`
  })
  const width = (to - from) / COLUMNS
  const load = ['policy', 'environment', 'reward-model', 'head'].map((role) => {
    const cells = Array.from({ length: COLUMNS }, (_, index) => {
      // A bin is narrower than the time between two samples: the rate over half a second around it.
      const middle = from + (index + 0.5) * width
      const rate = cpuWithin(samples, role, [middle - 250, middle + 250]) / 0.5
      return rate < 0.05 ? ' ' : String(Math.min(9, Math.round(rate * 10)))
    })
    return `${`cpu ${role}`.padEnd(20)} |${cells.join('')}|`
  })
  process.stderr.write(
    [
      `iteration ${iteration}, ${seconds(to)} s, ${workers} rollout worker(s); processor use in tenths of a core`,
      ...lines,
      ...load,
      '',
    ].join('\n'),
  )
}
