/** Speed of deciders and projections on decoded events: the cost of replay beside reading the log. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startDecider } from '../../../src/actors/decider/decider.ts'
import { decidersOf } from '../../../src/actors/deciders.ts'
import { parseConfig } from '../../../src/config.ts'
import type { LoggedEvent } from '../../../src/events/catalogue.ts'
import { openLog } from '../../../src/events/log.ts'
import { openLogReader } from '../../../src/events/log-reader.ts'
import { openRebuild } from '../../../src/replay/projections.ts'
import { generateLog } from '../replay/generate.ts'
import { median, report } from '../report.ts'

const ITERATIONS = 22
const ROUNDS = 3
const BATCH = 20_000

export function benchFolds(): void {
  const root = mkdtempSync(join(tmpdir(), 'rl-bench-folds-'))
  try {
    const config = parseConfig({
      run: { iterations: ITERATIONS, evaluateEvery: 50 },
      environment: { name: 'simulated', maxSteps: 30 },
      policy: { provider: 'simulated' },
      rewardModel: { provider: 'simulated' },
      simulation: { steps: 20 },
    })
    const path = join(root, 'events.db')
    const writer = openLog(path, { run: 'bench', minFreeBytes: 0, synchronous: 'NORMAL' })
    generateLog(writer, config)
    writer.close()
    const log = openLogReader(path)
    const events = [...log.events()]
    log.close()
    const measured = {
      replay_projections_per_s: () => fold(events),
      replay_machines_per_s: () => {
        for (const decider of decidersOf(config).map(startDecider))
          for (const event of events) decider.handle(event)
      },
    }
    const goals = { replay_projections_per_s: '>= 400000', replay_machines_per_s: '>= 150000' } as const
    for (const name of ['replay_projections_per_s', 'replay_machines_per_s'] as const) {
      const rates = Array.from({ length: ROUNDS }, () => events.length / secondsOf(measured[name]))
      report({
        suite: 'events',
        name,
        value: median(rates),
        unit: 'events/s',
        goal: goals[name],
        n: ROUNDS,
        note: `${events.length} decoded events of a simulated run; ${name.includes('machines') ? 'all five deciders' : 'all projections, in memory'}`,
      })
    }
  } finally {
    rmSync(root, { recursive: true, force: true })
  }
}

function fold(events: readonly LoggedEvent[]): void {
  const rebuild = openRebuild()
  for (let at = 0; at < events.length; at += BATCH) rebuild.apply(events.slice(at, at + BATCH))
  rebuild.close()
}

function secondsOf(action: () => void): number {
  const start = performance.now()
  action()
  return (performance.now() - start) / 1000
}
