/** Updates of a judge whose weights live at an endpoint: nothing is learned here, and the batch still measures the judge. */
import { unchangedVersion } from '../decider/fold.ts'
import { updatedEvents } from './checkpoints.ts'
import type { BatchOf, Learner } from './ports.ts'

export function measuredUpdate(batchOf: BatchOf): Learner['update'] {
  return async (job) => {
    const { health } = await batchOf(job)
    return updatedEvents('reward-model', {
      ...unchangedVersion(job.version, 'the weights live at the endpoint'),
      metrics: { ...health },
    })
  }
}
