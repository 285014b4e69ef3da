/** Worlds by their seeds: which run a seed has, what an undisturbed one gives, and a failing one made small. */
import type { Config } from '../../src/config.ts'
import { worldConfig } from './config.ts'
import { shrink } from './shrink.ts'
import { type Outcome, runWorld } from './world.ts'

/** Runs that differ in what they decide; a seed has one of them. */
const RUNS: readonly Config[] = [
  worldConfig(),
  worldConfig({ run: { seed: 2, iterations: 3 }, simulation: { failureShare: 0.1 } }),
  worldConfig({ run: { seed: 3, maxStaleness: 1 } }),
  worldConfig({ run: { seed: 4, iterations: 2 } }),
  worldConfig({ run: { seed: 5, maxStaleness: 1, barrier: false }, environment: { tasks: 8 } }),
]
/** Where rollouts may be stale, what is decided depends on what comes first. */
const isSynchronous = ({ run }: Config) => run.maxStaleness === 0

const digests = new Map<Config, string | null>()

export async function simulate(
  seed: number,
  options: { readonly only?: ReadonlySet<string>; readonly trace?: (line: string) => void } = {},
): Promise<Outcome> {
  const config = RUNS[seed % RUNS.length]
  let digest = digests.get(config)
  if (digest === undefined) {
    const undisturbed = await runWorld({ seed: 0, config, expected: null })
    if (undisturbed.violations.length > 0)
      throw new Error(`undisturbed: ${undisturbed.violations.join('; ')}`)
    digest = isSynchronous(config) ? undisturbed.digest : null
    digests.set(config, digest)
  }
  return runWorld({ seed, config, expected: { digest }, ...options })
}

/** The faults of a failing seed that it takes to go wrong. */
export async function shrunk({ seed, struck }: Outcome): Promise<readonly string[]> {
  return shrink(
    struck,
    async (faults) => (await simulate(seed, { only: new Set(faults) })).violations.length > 0,
  )
}
