/** Learners of models whose weights are not here: they live at an endpoint, or the model is a script. */
import type { EventData } from '../../events/catalogue.ts'
import type { GenerateRequest } from '../../models/port.ts'
import type { PromptedModel } from '../../models/provider.ts'
import { unchangedVersion } from '../decider/fold.ts'
import type { Train } from '../decider/jobs.ts'
import { type ModelRole, updatedEvents } from './checkpoints.ts'
import { tryOut } from './endpoint.ts'
import type { BatchOf, Learner } from './ports.ts'

type Figures = Pick<EventData<'PolicyUpdated'>, 'metrics' | 'stopped'>

export const AT_ENDPOINT = 'the weights live at the endpoint'

/**
 * A learner whose versions all have the weights of version 0.
 * @param begin returns the metrics of version 0
 * @param measure returns what an update would have been made of, and why it was not made
 */
export function fixedLearner(
  role: ModelRole,
  begin: () => Promise<Figures['metrics']>,
  measure: (job: Train) => Promise<Figures>,
): Learner {
  return {
    begin: async () => updatedEvents(role, { ...unchangedVersion(0, null), metrics: await begin() }),
    update: async (job) =>
      updatedEvents(role, { ...unchangedVersion(job.version, null), ...(await measure(job)) }),
  }
}

/** The learner of a policy that is a script. */
export function scriptedPolicyLearner(): Learner {
  const metrics = { simulated: 1 }
  return fixedLearner(
    'policy',
    async () => metrics,
    async () => ({ metrics, stopped: A_SCRIPT }),
  )
}

export const A_SCRIPT = 'a script does not learn'

/** The learner of a judge behind an endpoint. The endpoint is tried out first, and the batch still measures the judge. */
export function servedJudgeLearner(
  first: PromptedModel,
  sampling: Pick<GenerateRequest, 'temperature' | 'topP'>,
  batchOf: BatchOf,
): Learner {
  return fixedLearner(
    'reward-model',
    async () => {
      await tryOut(first, sampling)
      return {}
    },
    async (job) => ({ metrics: { ...(await batchOf(job)).health }, stopped: AT_ENDPOINT }),
  )
}
