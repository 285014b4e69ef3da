/** Reads the batch of a policy's update from the log. */
import type { LogClient } from '../../events/log-client.ts'
import type { BatchOf } from '../learner/ports.ts'
import { readIteration } from '../rollout/log-queries.ts'
import { policyBatch } from './batch.ts'
import type { BatchSettings } from './policy-advantages.ts'

export function policyBatchOf(settings: BatchSettings, log: LogClient): BatchOf {
  return async ({ iteration, parentVersion, groups }) => {
    const played = await readIteration(log, iteration, ['TrajectoryCompleted', 'StepScored'])
    const { TrajectoryCompleted: trajectories, StepScored: scored } = played
    const { samples, rollouts, health } = policyBatch(groups, trajectories, scored, settings)
    const versions = new Map(trajectories.map(({ rollout, policyVersion }) => [rollout, policyVersion]))
    const versionOf = (id: string) => versions.get(id.slice(0, id.lastIndexOf('#'))) ?? parentVersion
    return {
      samples: samples.map((sample) => ({ ...sample, policyVersion: versionOf(sample.id) })),
      trainedOn: rollouts,
      health,
      none: 'no step has an advantage',
    }
  }
}
