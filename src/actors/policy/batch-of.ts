/** Reads the batch of a policy's update from the log. */
import type { EventData } from '../../events/catalogue.ts'
import type { LogClient } from '../../events/log-client.ts'
import type { Train } from '../decider/jobs.ts'
import type { BatchOf } from '../learner/ports.ts'
import { readEvents, readIteration } from '../rollout/log-queries.ts'
import { wholeTrajectories } from '../rollout/stored-trajectories.ts'
import { type PolicyBatch, policyBatch } from './batch.ts'
import { openPassRates } from './pass-rates.ts'
import type { BatchSettings } from './policy-advantages.ts'
import { openSuccessPool, type SuccessPool, withSuccesses } from './success-pool.ts'

type Trajectory = EventData<'TrajectoryCompleted'>

/** A batch, with the trajectories that it was made of. */
type ReadBatch = Pick<PolicyBatch, 'samples' | 'rollouts' | 'health'> & {
  readonly trajectories: readonly Trajectory[]
}

export function policyBatchOf(settings: BatchSettings, log: LogClient): BatchOf {
  const read = openPolicyBatch(settings, log)
  return async (job) => {
    const { samples, rollouts, health, trajectories } = await read(job)
    const versions = new Map(trajectories.map(({ rollout, policyVersion }) => [rollout, policyVersion]))
    const versionOf = (id: string) => versions.get(id.slice(0, id.lastIndexOf('#'))) ?? job.parentVersion
    return {
      samples: samples.map((sample) => ({ ...sample, policyVersion: versionOf(sample.id) })),
      trainedOn: rollouts,
      health,
      none: 'no step has an advantage',
    }
  }
}

/** Returns a reader of batches: the rollouts of an iteration, and those of earlier ones that enter its update. */
export function openPolicyBatch(
  settings: BatchSettings,
  log: LogClient,
): (job: Pick<Train, 'iteration' | 'groups'>) => Promise<ReadBatch> {
  const poolOf = settings.learning.successPool ? readPool(log) : null
  const ratesUntil = openPassRates(settings, log)
  return async ({ iteration, groups: played }) => {
    const read = await readIteration(log, iteration, ['TrajectoryCompleted', 'StepScored'])
    const pool = await poolOf?.()
    const { groups, pooled } = pool ? withSuccesses(played, iteration, pool) : { groups: played, pooled: [] }
    const known = [...read.TrajectoryCompleted, ...pooled.map(({ trajectory }) => trajectory)]
    const trajectories = await wholeTrajectories(log, known)
    const scored = [...read.StepScored, ...pooled.flatMap((one) => one.scored)]
    const rates = await ratesUntil(iteration)
    const { samples, rollouts, health } = policyBatch(groups, trajectories, scored, settings, rates)
    return {
      ...{ samples, rollouts, trajectories },
      health: pool ? { ...health, groupsPooled: pooled.length } : health,
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
