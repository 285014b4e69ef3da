/** Parts of a trajectory that all players tell alike: the own player, and agents behind the gateway. */
import type { EventData } from '../../events/catalogue.ts'

type Usage = EventData<'TrajectoryCompleted'>['usage']

/** Returns what a trajectory repeats of its request. */
export function placeOf(request: EventData<'RolloutRequested'>) {
  const { rollout, iteration, purpose, split, slot, task, index, policyVersion, seed } = request
  return { rollout, iteration, purpose, split, slot, task, index, policyVersion, seed }
}

/** Adds the tokens of one answer to those of a rollout. */
export function addUsage(sum: Usage, one: Usage): void {
  sum.promptTokens += one.promptTokens
  sum.cachedTokens += one.cachedTokens
  sum.completionTokens += one.completionTokens
}
