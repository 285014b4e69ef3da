/** Reads the batch of a policy's update from the log. */
import type { LogClient } from '../../events/log-client.ts'
import type { BatchOf } from '../learner/ports.ts'
import { readEvents, readIteration } from '../rollout/log-queries.ts'
import { policyBatch } from './batch.ts'
import { openPassRates } from './pass-rates.ts'
import type { BatchSettings } from './policy-advantages.ts'
import { openSuccessPool, type SuccessPool, withSuccesses } from './success-pool.ts'

export function policyBatchOf(settings: BatchSettings, log: LogClient): BatchOf {
  const poolOf = settings.learning.successPool ? readPool(log) : null
  const ratesUntil = openPassRates(settings, log)
  return async ({ iteration, parentVersion, groups: played }) => {
    const read = await readIteration(log, iteration, ['TrajectoryCompleted', 'StepScored'])
    const pool = await poolOf?.()
    const { groups, pooled } = pool ? withSuccesses(played, iteration, pool) : { groups: played, pooled: [] }
    const trajectories = [...read.TrajectoryCompleted, ...pooled.map(({ trajectory }) => trajectory)]
    const scored = [...read.StepScored, ...pooled.flatMap((one) => one.scored)]
    const { samples, rollouts, health } = policyBatch(
      groups,
      trajectories,
      scored,
      settings,
      await ratesUntil(iteration),
    )
    const versions = new Map(trajectories.map(({ rollout, policyVersion }) => [rollout, policyVersion]))
    const versionOf = (id: string) => versions.get(id.slice(0, id.lastIndexOf('#'))) ?? parentVersion
    return {
      samples: samples.map((sample) => ({ ...sample, policyVersion: versionOf(sample.id) })),
      trainedOn: rollouts,
      health: pool ? { ...health, groupsPooled: pooled.length } : health,
      none: 'no step has an advantage',
    }
  }
}

/** Returns a reader of the successes in the log. It goes on from where it was. */
function readPool(log: LogClient): () => Promise<SuccessPool> {
  const pool = openSuccessPool()
  let from = 1
  return async () => {
    const { events, next } = await readEvents(log, from, ['TrajectoryCompleted', 'StepScored'])
    from = next
    for (const { type, data } of events)
      if (type === 'TrajectoryCompleted') pool.seeTrajectory(data)
      else pool.seeScored(data)
    return pool
  }
}
