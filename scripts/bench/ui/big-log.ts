/** A run of a given length for benches, generated once and kept in the cache. */
import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { type RunFolder, runFolder } from '../../../src/broker/connection.ts'
import { parseConfig } from '../../../src/config.ts'
import { openLog } from '../../../src/events/log.ts'
import { cachePlace } from '../../../src/package.ts'
import { generateLog } from '../replay/generate.ts'

/** Events of one iteration of 16 tasks x 8 rollouts with candidates, each of about 22 steps. */
const EVENTS_AN_ITERATION = 4_600

/** Returns the folder of the run `bench`. Nobody may append to its log. */
export function bigLog(events: number): RunFolder {
  const root = cachePlace('bench', `ui-${events}`)
  const folder = runFolder('bench', root)
  if (existsSync(folder.log)) return folder
  const unfinished = runFolder('bench', join(root, `unfinished-${process.pid}`))
  mkdirSync(unfinished.folder, { recursive: true })
  const log = openLog(unfinished.log, { run: 'bench', minFreeBytes: 0, synchronous: 'NORMAL' })
  generateLog(
    log,
    parseConfig({
      run: { iterations: Math.max(2, Math.round(events / EVENTS_AN_ITERATION)), evaluateEvery: 50 },
      environment: { name: 'simulated', tasksPerIteration: 16, rolloutsPerTask: 8, maxSteps: 30 },
      policy: { provider: 'simulated' },
      rewardModel: { provider: 'simulated' },
      simulation: { steps: 20 },
    }),
  )
  log.close()
  renameSync(unfinished.folder, folder.folder)
  rmSync(join(root, `unfinished-${process.pid}`), { recursive: true, force: true })
  return folder
}
