/** Ages of a run's rollouts when its policy learned from them, and their weights. */
import { z } from 'zod'
import type { LogReader } from '../events/log-reader.ts'

export const stalenessSchema = z.strictObject({
  trained: z.int().nonnegative(),
  /** Policy versions between the policy that played and the one that learned. */
  meanAge: z.number(),
  mostAge: z.number(),
  updates: z.int().nonnegative(),
  /** Number of updates that ended early. */
  stopped: z.int().nonnegative(),
  /** Means over updates. Null if none weighed its tokens. */
  effectiveShare: z.number().nullable(),
  weightsCutShare: z.number().nullable(),
})

/** Returns null if the policy learned nothing. */
export function stalenessOf(log: Pick<LogReader, 'events'>): z.infer<typeof stalenessSchema> | null {
  const versions = new Map<string, number>()
  const shares = { effectiveShare: [] as number[], weightsCutShare: [] as number[] }
  let [trained, sum, mostAge, updates, stopped] = [0, 0, 0, 0, 0]
  for (const { type, data } of log.events({ types: ['TrajectoryCompleted', 'PolicyUpdated'] })) {
    if (type === 'TrajectoryCompleted') {
      if (data.purpose !== 'evaluation') versions.set(data.rollout, data.policyVersion)
      continue
    }
    const { parentVersion, trainedOn, metrics } = data
    if (parentVersion === null || trainedOn.length === 0) continue
    updates++
    if (data.stopped !== null) stopped++
    for (const rollout of trainedOn) {
      const age = parentVersion - (versions.get(rollout) ?? parentVersion)
      trained++
      sum += age
      mostAge = Math.max(mostAge, age)
    }
    for (const name of ['effectiveShare', 'weightsCutShare'] as const)
      if (metrics[name] !== undefined) shares[name].push(metrics[name])
  }
  if (trained === 0) return null
  const { effectiveShare, weightsCutShare } = shares
  return {
    ...{ trained, meanAge: sum / trained, mostAge, updates, stopped },
    effectiveShare: meanOf(effectiveShare),
    weightsCutShare: meanOf(weightsCutShare),
  }
}

function meanOf(values: readonly number[]): number | null {
  return values.length === 0 ? null : values.reduce((sum, value) => sum + value, 0) / values.length
}
