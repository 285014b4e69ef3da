/** The jobs of a model that is a script: it has versions, and none of them has learned anything. */
import { unchangedVersion } from '../decider/fold.ts'
import type { JobHandlers } from '../runtime/worker.ts'
import { updatedEvents } from './checkpoints.ts'

export function unlearning(
  role: 'policy' | 'reward-model',
): Required<Pick<JobHandlers, 'cold-start' | 'train'>> {
  const metrics = { simulated: 1 }
  return {
    'cold-start': async () => updatedEvents(role, { ...unchangedVersion(0, ''), stopped: null, metrics }),
    train: async ({ version }) =>
      updatedEvents(role, { ...unchangedVersion(version, 'a script does not learn'), metrics }),
  }
}
