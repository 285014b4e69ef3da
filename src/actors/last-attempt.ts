/** Settles shared work that failed for good: a rollout is not judged, a rewrite is refused, and the run goes on. */
import type { AdaptationConfig } from '../config-schema/sections.ts'
import type { NewEvent } from '../events/catalogue.ts'
import type { Job, JudgeRollouts, RewriteTask } from './decider/jobs.ts'

/** Returns null for work that the run cannot go on without. */
export function lastAttempt(adaptation: AdaptationConfig) {
  return function settleWithout(job: Job, attempts: number, lastError: string): readonly NewEvent[] | null {
    const reason = `given up after ${attempts} tries: ${lastError}`.slice(0, 2_000)
    if (job.kind === 'judge') return unjudged(job.input)
    if (job.kind === 'rewrite') return [refusal(job.input, adaptation, reason)]
    return null
  }
}

/**
 * Returns events without verdicts. A fault of the infrastructure is no verdict: it would count against the policy and
 * against the judge.
 */
function unjudged({ rollouts, iteration, task, rewardModelVersion }: JudgeRollouts): NewEvent[] {
  return rollouts.flatMap(({ rollout, steps }) =>
    Array.from({ length: steps }, (_, step): NewEvent => {
      const place = { rollout, iteration, step, task, rewardModelVersion }
      return { type: 'StepScored', data: { ...place, judgements: [], probability: null, progress: null } }
    }),
  )
}

function refusal(
  { iteration, slot, parent, direction, parentAccuracy }: RewriteTask,
  { low, high }: AdaptationConfig,
  reason: string,
): NewEvent {
  const nobody = { task: null, accuracy: { successes: 0, n: 0 }, thresholds: { low, high } }
  return {
    type: 'TaskRejected',
    data: { iteration, slot, parent, direction, parentAccuracy, ...nobody, reason },
  }
}
