/**
 * `npm run -s bench -- rescore`: rl rescore on a generated log of RL_BENCH_ROLLOUTS rollouts (100,000) of about 20 steps: one rule,
 * then all of them. Another process writes the log, so that the memory is that of rescoring alone.
 */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseConfig } from '../../src/config.ts'
import { openLog } from '../../src/events/log.ts'
import { openLogReader } from '../../src/events/log-reader.ts'
import { rescore } from '../../src/replay/rescore.ts'
import { rescoreAll } from '../../src/replay/rescore-all.ts'
import { generateLog } from './replay/generate.ts'
import { report } from './report.ts'

const ROLLOUTS = Number(process.env.RL_BENCH_ROLLOUTS ?? 100_000)
const FULL = 100_000
const PER_TASK = 8
const TASKS = 16

const written = process.env.RL_BENCH_RESCORE_LOG
if (written === undefined) measureAll()
else write(written)

function write(path: string): void {
  const config = parseConfig({
    run: { iterations: Math.max(2, Math.ceil(ROLLOUTS / (TASKS * PER_TASK))), evaluateEvery: 50 },
    environment: { name: 'simulated', tasksPerIteration: TASKS, rolloutsPerTask: PER_TASK, maxSteps: 30 },
    policy: { provider: 'simulated' },
    rewardModel: { provider: 'simulated' },
    simulation: { steps: 20 },
  })
  const log = openLog(path, { run: 'bench', minFreeBytes: 0, synchronous: 'NORMAL' })
  generateLog(log, config)
  log.close()
}

function measureAll(): void {
  const root = mkdtempSync(join(tmpdir(), 'rl-bench-rescore-'))
  const path = join(root, 'events.db')
  try {
    const { status } = spawnSync(process.execPath, ['bin/launch.mjs', fileURLToPath(import.meta.url)], {
      env: { ...process.env, RL_BENCH_RESCORE_LOG: path },
      stdio: 'inherit',
    })
    if (status !== 0) throw new Error(`the log was not written: ${status}`)
    const log = openLogReader(path)
    measure('one_rule_100k_s', '< 60', () => rescore(log, ['learning.reward=gated']))
    measure('all_rules_100k_s', '< 300', () => rescoreAll(log))
    log.close()
  } finally {
    rmSync(root, { recursive: true, force: true })
  }
}

/** Reports seconds of the clock for 100,000 rollouts, and the memory at its highest. */
function measure(
  name: string,
  goal: string,
  work: () => { readonly trajectories: number; readonly steps: number },
): void {
  const [start, before] = [performance.now(), process.cpuUsage()]
  const { trajectories, steps } = work()
  const seconds = (performance.now() - start) / 1000
  const { user, system } = process.cpuUsage(before)
  const memory = Math.round(process.resourceUsage().maxRSS / 1024)
  report({
    ...{ suite: 'rescore', name, unit: 's', goal, n: 1, value: (seconds * FULL) / trajectories },
    note: `${seconds.toFixed(1)} s for ${trajectories} rollouts with ${steps} steps, ${((user + system) / 1e6).toFixed(1)} s of processor time, at most ${memory} MB`,
  })
}
