/** The runs that are simulated: small, and each the same in every world but for its faults. */
import { type Config, parseConfig } from '../../src/config.ts'

/** A job that hangs loses its place soon. */
const DEADLINES = {
  loadTasksSeconds: 8,
  coldStartSeconds: 8,
  rolloutSeconds: 6,
  llmCallSeconds: 3,
  stepSeconds: 4,
  scoringSeconds: 8,
  trainingSeconds: 8,
  rewriteSeconds: 8,
}

const SECTIONS: Readonly<Record<string, Record<string, unknown>>> = {
  run: {
    seed: 1,
    iterations: 5,
    evaluateEvery: 2,
    attempts: 1000,
    heartbeatSeconds: 2,
    deadlines: DEADLINES,
  },
  environment: { name: 'simulated', tasks: 4, tasksPerIteration: 2, rolloutsPerTask: 2, minGroupSize: 2 },
  policy: { provider: 'simulated' },
  rewardModel: { provider: 'simulated' },
  adaptation: { evidence: 'point', low: 0.4, high: 0.6 },
  evaluation: { splits: ['in-domain'], tasks: 1 },
  simulation: { steps: 2 },
}

export function worldConfig(changes: Readonly<Record<string, Record<string, unknown>>> = {}): Config {
  return parseConfig(
    Object.fromEntries(
      Object.entries(SECTIONS).map(([name, section]) => [name, { ...section, ...changes[name] }]),
    ),
  )
}

/** The same config as `--set` has it. */
export function settingsOf(): readonly string[] {
  const flat = (value: unknown, path: string): string[] =>
    typeof value === 'object' && value !== null && !Array.isArray(value)
      ? Object.entries(value).flatMap(([key, inner]) => flat(inner, path === '' ? key : `${path}.${key}`))
      : [`${path}=${Array.isArray(value) ? JSON.stringify(value) : value}`]
  return flat(SECTIONS, '')
}
