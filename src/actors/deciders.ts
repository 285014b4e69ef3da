/** The deciders of a run: the one list of them. */
import type { Config } from '../config.ts'
import type { Role } from '../events/envelope.ts'
import { adapterDecider } from './adapter/machine.ts'
import type { Decider } from './decider/decider.ts'
import { environmentDecider } from './environment/machine.ts'
import { headDecider } from './head/machine.ts'
import { policyDecider } from './policy/machine.ts'
import { rewardModelDecider } from './reward-model/machine.ts'

const DECIDERS: Readonly<Record<Role, (config: Config) => Decider>> = {
  head: headDecider,
  environment: environmentDecider,
  policy: policyDecider,
  'reward-model': rewardModelDecider,
  adapter: adapterDecider,
}

export function deciderOf(role: Role, config: Config): Decider {
  return DECIDERS[role](config)
}

/** Returns all deciders of a run. */
export function decidersOf(config: Config): readonly Decider[] {
  return Object.values(DECIDERS).map((make) => make(config))
}
