/** The one rule for how many rollouts a process has in hand at a time: as many as its machine and the policy keep going. */
import { availableParallelism } from 'node:os'
import type { Config } from '../../config-schema/schema.ts'
import { providerOf } from '../../models/registry.ts'

/** A core steps this many episodes of text while a local model acts for them in one batch. */
const SLOTS_A_CORE = 64
/** A batch of a local model takes no more at a time. */
const MOST_SLOTS = 256
/**
 * Episodes of one player wait for each other at each tick. With several for each call of an endpoint, the calls go on
 * while some answers are late.
 */
const SLOTS_A_CALL = 4

export type Share = {
  readonly cores: number
  /** Processes on this machine that play episodes. */
  readonly processes: number
}

/** Returns the slots of this process: 64 a core, at most 256, and at most 4 for each call that an endpoint takes at a time. */
export function rolloutsAtATime(
  config: Config,
  { cores = availableParallelism(), processes = 1 }: Partial<Share> = {},
): number {
  const byCores = Math.min(MOST_SLOTS, Math.ceil((SLOTS_A_CORE * cores) / processes))
  const { trains, simulated } = providerOf(config.policy, config)
  if (trains || simulated) return byCores
  return Math.min(byCores, SLOTS_A_CALL * config.policy.expert.concurrency)
}
