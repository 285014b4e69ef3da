import type { Config } from '../../config.ts'
import type { LogClient } from '../../events/log-client.ts'
import type { Train } from '../decider/jobs.ts'
import { readIteration } from '../rollout/log-queries.ts'
import { testAdvantages } from './test-batch.ts'

/** Measures a writer of unit tests that does not learn here, by the batch that an update would have had. */
export async function readTestHealth(
  log: LogClient,
  { groups, iteration }: Train,
  config: Config,
): Promise<Record<string, number>> {
  const judged = await readIteration(log, iteration, ['TrajectoryCompleted', 'StepScored', 'UnitTestWritten'])
  const { TrajectoryCompleted: trajectories, StepScored: scored, UnitTestWritten: all } = judged
  const written = all.filter((test) => test.iteration === iteration)
  const { health } = testAdvantages(groups, trajectories, scored, written, config)
  return { ...health }
}
