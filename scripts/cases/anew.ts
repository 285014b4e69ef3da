/**
 * Cases that were written for older code. Each looks anew at what its case means, and returns why the case is right all the same,
 * or null.
 */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openLogReader } from '../../src/events/log-reader.ts'

/** @param output what the case printed */
type Anew = (folder: string, output: string) => string | null

export const ANEW: Readonly<Record<string, Anew>> = { U3: textsWithoutActing, T1: plantedAnew }

/** Settings of the config that U3 names, made small. */
const TEXTS = [
  ...['environment.name=sums', 'environment.tasks=8', 'rewardModel.mode=off', 'learning.reward=outcome'],
  ...[
    'adaptation.enabled=false',
    'run.iterations=1',
    'run.evaluateEvery=1',
    'environment.tasksPerIteration=2',
  ],
  ...['environment.rolloutsPerTask=2', 'environment.minGroupSize=2', 'evaluation.tasks=2'],
  ...['policy.coldStart.demonstrations=20', 'policy.coldStart.updates=5'],
]

/** U3 wants a texts setting without `policy.acting` refused. The default follows the setting now, so the run must complete. */
function textsWithoutActing(folder: string, output: string): string | null {
  if (JSON.stringify(gotOf(output)) !== '{"passes --dry-run":["texts with acting choices"]}') return null
  const runs = mkdtempSync(join(tmpdir(), 'rl-case-'))
  try {
    const keys = [`environment.module=${join(folder, 'sums.ts')}`, ...TEXTS]
    const words = keys.flatMap((key) => ['--set', key])
    const { status } = spawnSync(
      process.execPath,
      ['bin/launch.mjs', 'src/main.ts', '--role', 'head', '--run', 'sums', ...words],
      { env: { ...process.env, RL_RUNS: runs }, stdio: 'ignore' },
    )
    return status === 0 && actsFreely(join(runs, 'sums', 'events.db'))
      ? 'the default follows the setting: the run of this config is completed with acting free'
      : null
  } finally {
    rmSync(runs, { recursive: true, force: true })
  }
}

function actsFreely(path: string): boolean {
  const log = openLogReader(path)
  try {
    const starts = [...log.events({ types: ['RunStarted'] })]
    const acts = starts.map(({ data }) => (data.config as { policy?: { acting?: unknown } }).policy?.acting)
    const played = log.countOf('TrajectoryCompleted') > 0 && log.countOf('RunCompleted') === 1
    return played && acts.length > 0 && acts.every((acting) => acting === 'free')
  } finally {
    log.close()
  }
}

/** Bugs of T1 whose edits fit no more are planted by the simulation, under the same names. Something must find each. */
function plantedAnew(_: string, output: string): string | null {
  const names = gotOf(output)
  if (!Array.isArray(names) || names.length === 0) return null
  const { status, stdout } = spawnSync(
    process.execPath,
    ['bin/launch.mjs', 'scripts/simulate.ts', '--planted', ...names.map(String)],
    { encoding: 'utf8' },
  )
  return status === 0 ? `planted anew in the present code, and found:\n${stdout.trimEnd()}` : null
}

/** Returns the value that a case printed as what it got, or null. */
function gotOf(output: string): unknown {
  const text = /^\s*got\s+(.*)$/m.exec(output)?.[1]
  try {
    return text === undefined ? null : JSON.parse(text)
  } catch {
    return null
  }
}
