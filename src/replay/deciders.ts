import { adapterDecider } from '../actors/adapter/machine.ts'
import type { Decider } from '../actors/decider.ts'
import { environmentDecider } from '../actors/environment/machine.ts'
import { headDecider } from '../actors/head/machine.ts'
import { policyDecider } from '../actors/policy/machine.ts'
import { rewardModelDecider } from '../actors/reward-model/machine.ts'
import type { Config } from '../config.ts'

/** All who decide anything in a run. */
export function decidersOf(config: Config): readonly Decider[] {
  return [headDecider, environmentDecider, policyDecider, rewardModelDecider, adapterDecider].map((make) =>
    make(config),
  )
}
