/** Replay, fork, why and rescore on a generated log of a million events (RL_BENCH_EVENTS changes the number). */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { runFolder } from '../../src/broker/connection.ts'
import { parseConfig } from '../../src/config.ts'
import { openLog } from '../../src/events/log.ts'
import { openLogReader } from '../../src/events/log-reader.ts'
import { forkRun } from '../../src/replay/fork.ts'
import { openRebuild } from '../../src/replay/projections.ts'
import { replay } from '../../src/replay/replay.ts'
import { rescore } from '../../src/replay/rescore.ts'
import { ofType, whyTask, whyVersion } from '../../src/replay/why.ts'
import { whyStep } from '../../src/replay/why-step.ts'
import { generateLog } from './replay/generate.ts'
import { median, report } from './report.ts'

const EVENTS = Number(process.env.RL_BENCH_EVENTS ?? 1_000_000)
/** Events of one iteration of 16 tasks x 8 rollouts with candidates, each of about 22 steps. */
const EVENTS_AN_ITERATION = 4_600
const FORKS = 5

const root = mkdtempSync(join(tmpdir(), 'rl-bench-replay-'))
const folder = runFolder('bench', root)

function measure(name: string, value: number, unit: string, goal: string, n: number, note: string): void {
  report({ suite: 'replay', name, value, unit, goal, n, note })
}

/** Processor time of the last measured action, in seconds: on a busy machine it says more than the clock. */
let processor = 0

function seconds(action: () => void): number {
  const start = performance.now()
  const before = process.cpuUsage()
  action()
  const { user, system } = process.cpuUsage(before)
  processor = (user + system) / 1e6
  return (performance.now() - start) / 1000
}

try {
  const config = parseConfig({
    run: { iterations: Math.max(2, Math.round(EVENTS / EVENTS_AN_ITERATION)), evaluateEvery: 50 },
    environment: { name: 'simulated', tasksPerIteration: 16, rolloutsPerTask: 8, maxSteps: 30 },
    policy: { provider: 'simulated' },
    rewardModel: { provider: 'simulated' },
    simulation: { steps: 20 },
  })
  const writer = openLog(folder.log, { run: 'bench', minFreeBytes: 0, synchronous: 'NORMAL' })
  const events = generateLog(writer, config)
  writer.close()
  const log = openLogReader(folder.log)
  const of = `${events} events`

  let result: ReturnType<typeof replay> | null = null
  const deciding = seconds(() => {
    result = replay(log)
  })
  const { difference, completed, compared } = result as unknown as ReturnType<typeof replay>
  if (difference || !completed) throw new Error(`the generated log does not replay: ${difference?.what}`)
  measure(
    'replay_per_s',
    events / deciding,
    'events/s',
    '>= 150000',
    1,
    `${of}, all five deciders, ${compared} decisions compared; ${processor.toFixed(1)} s of processor time`,
  )

  const rebuild = openRebuild()
  const folding = seconds(() => {
    let batch = []
    for (const event of log.events()) {
      batch.push(event)
      if (batch.length < 20_000) continue
      rebuild.apply(batch)
      batch = []
    }
    rebuild.apply(batch)
  })
  rebuild.close()
  measure(
    'rebuild_per_s',
    events / folding,
    'events/s',
    '>= 400000',
    1,
    `${of}, all projections; ${processor.toFixed(1)} s of processor time`,
  )

  const forks = Array.from({ length: FORKS }, (_, i) =>
    seconds(() =>
      forkRun(folder, runFolder(`fork-${i}`, root), { at: events >> 1, set: ['learning.lambda=0.5'] }),
    ),
  )
  measure('fork_ms', median(forks) * 1000, 'ms', '< 100', FORKS, `at the middle of ${of}`)

  const tasks = ofType(log, 'TaskProposed')
  const rollouts = ofType(log, 'PolicyUpdated').flatMap(({ data }) => data.trainedOn)
  const asked = Array.from({ length: 10 }, (_, i) => [
    seconds(() => whyTask(log, tasks[Math.floor((tasks.length - 1) * (i / 9))].data.task.id)),
    seconds(() => whyStep(log, rollouts[Math.floor((rollouts.length - 1) * (i / 9))], 0)),
    seconds(() => whyVersion(log, 'policy', Math.max(1, Math.floor(config.run.iterations * (i / 9))))),
  ])
  for (const [index, kind] of ['task', 'step', 'version'].entries())
    measure(`why_${kind}_ms`, median(asked.map((times) => times[index])) * 1000, 'ms', '< 200', 10, of)
  measure('why_ms', median(asked.flat()) * 1000, 'ms', '< 50', 30, `${of}; tasks, steps and versions`)
  measure('why_worst_ms', Math.max(...asked.flat()) * 1000, 'ms', '< 200', 30, of)

  let steps = 0
  let trajectories = 0
  const scoring = seconds(() => {
    const scored = rescore(log, ['learning.lambda=0.5', 'adaptation.evidence=bayes'])
    steps = scored.steps
    trajectories = scored.trajectories
  })
  measure(
    'rescore_100k_s',
    (scoring * 3_000_000) / steps,
    's',
    '< 40',
    1,
    `${scoring.toFixed(1)} s for ${trajectories} trajectories with ${steps} steps (${processor.toFixed(1)} s of processor time), scaled to 3,000,000 steps`,
  )
  log.close()
} finally {
  rmSync(root, { recursive: true, force: true })
}
