/** Turns an iteration's trajectories and verdicts into the policy's batch: rewards, filters, advantages, samples. */
import type { EventData } from '../../events/catalogue.ts'
import { wrongIn } from '../../events/codec.ts'
import type { PassRates } from '../../learning/pass-rates.ts'
import { truncated } from '../../learning/published/truncated.ts'
import type { TrainingSample } from '../../models/port.ts'
import { isLearnable } from '../../models/trained-answer.ts'
import type { LearnableGroup } from '../decider/jobs.ts'
import { type BatchSettings, policyAdvantages } from './policy-advantages.ts'
import type { JudgedStep } from './rewarded-rollout.ts'
import { segmentSample } from './samples.ts'

type Trajectory = EventData<'TrajectoryCompleted'>

export type PolicyBatch = {
  readonly samples: readonly TrainingSample[]
  /** Rollouts with at least one trained step, in order of the groups. */
  readonly rollouts: readonly string[]
  /** Advantages of each rollout, [steps]. */
  readonly advantages: ReadonlyMap<string, Float64Array>
  readonly health: Readonly<Record<string, number>>
}

/**
 * Returns the batch of one update. `groups` names the rollouts in canonical order. The order of the other arguments is
 * free. Rollouts that lack token ids count in their group, but cannot be trained on. A sample that no pass can take is
 * left out and counted.
 */
export function policyBatch(
  groups: readonly LearnableGroup[],
  trajectories: readonly Trajectory[],
  scored: readonly JudgedStep[],
  settings: BatchSettings,
  rates: PassRates | null = null,
): PolicyBatch {
  const byId = new Map(trajectories.map((trajectory) => [trajectory.rollout, trajectory]))
  const { byRollout, leftOut, health } = policyAdvantages(groups, trajectories, scored, settings, rates)
  const masksTruncated = settings.learning.truncated === 'mask'
  const tellsSteps = settings.policy?.training.aggregate === 'step'
  const samples: TrainingSample[] = []
  const rollouts = new Set<string>()
  let cutOff = 0
  let malformed = 0
  let unlearnable = 0
  for (const [rollout, values] of byRollout) {
    const trajectory = byId.get(rollout)
    if (!trajectory?.trainable) continue
    // Older logs hold trajectories whose columns disagree. Those in a store were checked by nobody.
    const unread = trajectory.storedSegments !== undefined
    if (unread || wrongIn({ type: 'TrajectoryCompleted', data: trajectory }) !== null) {
      malformed++
      continue
    }
    const filter = leftOut.get(rollout)
    if (filter === truncated.name) cutOff++
    if (filter !== undefined) continue
    for (const segment of trajectory.segments) {
      const sample = segmentSample(`${rollout}#${segment.firstStep}`, segment, values, tellsSteps)
      if (!sample) continue
      if (!isLearnable(sample)) {
        unlearnable++
        continue
      }
      samples.push(sample)
      rollouts.add(rollout)
    }
  }
  return {
    samples,
    rollouts: [...rollouts],
    advantages: byRollout,
    health: {
      ...health,
      ...(masksTruncated ? { rolloutsTruncated: cutOff } : {}),
      ...(malformed > 0 ? { rolloutsMalformed: malformed } : {}),
      ...(unlearnable > 0 ? { samplesUnlearnable: unlearnable } : {}),
    },
  }
}
