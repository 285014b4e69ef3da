/** How far a version of the judge is trusted: by its falls on the policy's own rollouts of the iteration before. */
import type { LogClient } from '../../events/log-client.ts'
import { fallCorrelationOf, trustOf } from '../../learning/judge-trust.ts'
import { readEvents, readIteration } from '../rollout/log-queries.ts'

/** Returns a reader of the trust in versions. It follows from the log alone, so each process finds the same. */
export function openTrust(log: LogClient): (version: number) => Promise<number> {
  const known = new Map<number, Promise<number>>()

  async function measured(version: number): Promise<number> {
    if (version === 0) {
      const { events } = await readEvents(log, 1, ['RewardModelUpdated'])
      return trustOf(events.find(({ data }) => data.version === 0)?.data.metrics.fallCorrelation ?? null)
    }
    const read = await readIteration(log, version, ['TrajectoryCompleted', 'StepScored'])
    const played = read.TrajectoryCompleted.filter(
      ({ iteration, purpose }) => iteration === version && purpose !== 'evaluation',
    )
    const rollouts = new Set(played.map(({ rollout }) => rollout))
    return trustOf(fallCorrelationOf(read.StepScored.filter(({ rollout }) => rollouts.has(rollout))))
  }

  return (version) => {
    const found = known.get(version) ?? measured(version)
    known.set(version, found)
    found.catch(() => known.delete(version))
    return found
  }
}
