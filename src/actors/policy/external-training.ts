/** The policy's worker as it is, but for its updates: a trainer outside makes them. */
import type { Config } from '../../config.ts'
import type { LogClient } from '../../events/log-client.ts'
import type { Train } from '../decider/jobs.ts'
import { type OutsideBatch, trainOutside } from '../learner/outside.ts'
import { readIteration } from '../rollout/log-queries.ts'
import type { OpenedWorker } from '../runtime/worker.ts'
import { policyBatch } from './batch.ts'

export function externallyTrained(
  { worker, note }: OpenedWorker,
  config: Config,
  log: LogClient,
): OpenedWorker {
  async function batchOf({ iteration, parentVersion, groups }: Train): Promise<OutsideBatch> {
    const played = await readIteration(log, iteration, ['TrajectoryCompleted', 'StepScored'])
    const { TrajectoryCompleted: trajectories, StepScored: scored } = played
    const { samples, rollouts, health } = policyBatch(groups, trajectories, scored, config)
    const versions = new Map(trajectories.map(({ rollout, policyVersion }) => [rollout, policyVersion]))
    const versionOf = (id: string) => versions.get(id.slice(0, id.lastIndexOf('#'))) ?? parentVersion
    return {
      samples: samples.map((sample) => ({ ...sample, policyVersion: versionOf(sample.id) })),
      ...{ trainedOn: rollouts, health, none: 'no step has an advantage' },
    }
  }

  return {
    note: `${note}, trained outside`,
    worker: {
      ...worker,
      jobs: {
        ...worker.jobs,
        train: async (job, context) => trainOutside('policy', job, await batchOf(job), config, context),
      },
    },
  }
}
