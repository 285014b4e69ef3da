import { stableMean } from '../moments.ts'
import type { StepWeight } from '../rules.ts'

/**
 * Weighs each step by the time that it took, so that fast steps are not learned first because there are more of them (2509.01684).
 * A run with this rule cannot be repeated by its seed. Its log replays all the same.
 */
export const duration: StepWeight = {
  name: 'duration',
  version: 1,
  needs: 'durationsMs',
  formula: 'factor dt_t / mean dt over the steps of the batch',
  source: 'RL for ML engineering agents, arXiv 2509.01684, paper; the divisor is a choice of this project',
  factors(batch) {
    const mean = stableMean(batch.flatMap(({ played }) => [...(played.durationsMs ?? [])]))
    return batch.map(({ played, advantages }) =>
      Array.from(advantages, (_, t) => (mean > 0 ? (played.durationsMs?.[t] ?? mean) / mean : 1)),
    )
  },
}
