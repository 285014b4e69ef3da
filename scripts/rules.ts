/**
 * `npm run -s rules [-- NAME...]`: a small run of two iterations under every preset of config/rules, with every process of a run.
 * Each is replayed to its digest. The last line is `presets=N failed=N`.
 */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Groups of six, so that a rule which asks for five holders finds them. */
const SETTINGS = [
  ...['run.iterations=2', 'run.evaluateEvery=2', 'evaluation.tasks=2', 'evaluation.splits=[in-domain]'],
  ...['environment.tasks=4', 'environment.tasksPerIteration=2', 'environment.rolloutsPerTask=6'],
  ...['environment.minGroupSize=2', 'environment.maxSteps=6'],
  ...['policy.coldStart.demonstrations=40', 'policy.coldStart.updates=8', 'policy.training.updates=1'],
  ...['rewardModel.coldStart.rollouts=8', 'rewardModel.coldStart.updates=2'],
]
/** Presets that say nothing of it train on tasks of any outcome, so that two iterations train at all. */
const ANY_OUTCOME = 'learning.mixedOutcomes=false'
/** What a preset needs to act within two iterations. */
const OWN: Readonly<Record<string, readonly string[]>> = {
  tiers: [],
  accuracy: [],
  'hard-focus': [
    ...[ANY_OUTCOME, 'learning.options.hard-focus.from=2', 'learning.options.hard-focus.rollouts=8'],
  ],
  role: ['policy.contextTokens=96'],
  window: [ANY_OUTCOME, 'policy.contextTokens=96'],
  similarity: [],
  outside: [ANY_OUTCOME, 'environment.maxSteps=20'],
  'semi-online': ['environment.maxSteps=20'],
  'a-lol': [ANY_OUTCOME, 'environment.maxSteps=20'],
  // Both iterations play the same tasks, and some of them are solved.
  'success-pool': ['environment.tasks=2', 'environment.tasksPerIteration=2', ANY_OUTCOME],
  stages: [ANY_OUTCOME, 'learning.options.stages.every=1'],
}
const DEADLINE_MS = 600_000
const FOLDER = 'config/rules'

const root = mkdtempSync(join(tmpdir(), 'rl-rules-'))

type Ran = { readonly fault: string | null; readonly output: string }

function command(words: readonly string[]): Ran {
  const { status, signal, stdout, stderr } = spawnSync(process.execPath, ['bin/launch.mjs', ...words], {
    env: { ...process.env, RL_RUNS: root, FORCE_COLOR: '0' },
    encoding: 'utf8',
    timeout: DEADLINE_MS,
  })
  const output = `${stdout}${stderr}`
  return { fault: status === 0 ? null : `${words[0]} ended with ${status ?? signal}`, output }
}

/** Returns the event digest of the run, as its replay computed it again. That of decisions goes by the order of arrival. */
function tryPreset(preset: string): Ran {
  const file = join(FOLDER, `${preset}.yaml`)
  const settings = [...SETTINGS, ...(OWN[preset] ?? [ANY_OUTCOME])].flatMap((setting) => ['--set', setting])
  const played = command(['src/main.ts', '--role', 'head', '--run', preset, '--config', file, ...settings])
  if (played.fault !== null) return played
  const replayed = command(['src/rl.ts', 'replay', preset])
  if (replayed.fault !== null) return replayed
  const digest = /^events +([0-9a-f]{64}),/m.exec(replayed.output)?.[1]
  return digest === undefined
    ? { fault: 'the replay told no digest', output: replayed.output }
    : { fault: null, output: digest }
}

const there = readdirSync(FOLDER).map((file) => file.replace(/\.yaml$/, ''))
const asked = process.argv.slice(2)
const presets = asked.length > 0 ? asked : there.sort()
let failed = 0
try {
  for (const preset of presets) {
    const started = performance.now()
    const { fault, output } = tryPreset(preset)
    const seconds = ((performance.now() - started) / 1000).toFixed(0)
    if (fault === null) process.stdout.write(`ok ${preset} ${seconds} s digest ${output}\n`)
    else {
      failed++
      process.stdout.write(`FAIL ${preset} ${fault}\n${output.split('\n').slice(-20).join('\n')}\n`)
    }
  }
} finally {
  rmSync(root, { recursive: true, force: true })
}
process.stdout.write(`presets=${presets.length} failed=${failed}\n`)
process.exitCode = failed > 0 ? 1 : 0
