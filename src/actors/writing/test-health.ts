import type { Config } from '../../config.ts'
import type { LogClient } from '../../events/log-client.ts'
import type { Train } from '../decider/jobs.ts'
import { readIteration } from '../rollout/log-queries.ts'
import { testAdvantages } from './test-batch.ts'

/** What an update of a writer of unit tests would have been made of, where it does not learn here: it measures the writer. */
export async function readTestHealth(
  log: LogClient,
  { groups, iteration }: Train,
  config: Config,
): Promise<Record<string, number>> {
  const events = await readIteration(log, iteration, ['TrajectoryCompleted', 'StepScored'])
  const { health } = testAdvantages(
    groups,
    events.flatMap((event) => (event.type === 'TrajectoryCompleted' ? [event.data] : [])),
    events.flatMap((event) => (event.type === 'StepScored' ? [event.data] : [])),
    config,
  )
  return { ...health }
}
