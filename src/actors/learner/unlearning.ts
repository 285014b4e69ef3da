/** The learner of a model that is a script: it has versions, and none of them has learned anything. */
import { unchangedVersion } from '../decider/fold.ts'
import { type ModelRole, updatedEvents } from './checkpoints.ts'
import type { Learner } from './ports.ts'

export function unlearning(role: ModelRole): Learner {
  const metrics = { simulated: 1 }
  return {
    begin: async () => updatedEvents(role, { ...unchangedVersion(0, null), metrics }),
    update: async ({ version }) =>
      updatedEvents(role, { ...unchangedVersion(version, 'a script does not learn'), metrics }),
  }
}
