import type { Config } from '../config.ts'
import { adapterDecider } from './adapter/machine.ts'
import type { Decider } from './decider/decider.ts'
import { environmentDecider } from './environment/machine.ts'
import { headDecider } from './head/machine.ts'
import { policyDecider } from './policy/machine.ts'
import { rewardModelDecider } from './reward-model/machine.ts'

/** All who decide anything in a run. */
export function decidersOf(config: Config): readonly Decider[] {
  return [headDecider, environmentDecider, policyDecider, rewardModelDecider, adapterDecider].map((make) =>
    make(config),
  )
}
