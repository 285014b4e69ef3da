import type { EvaluationConfig, PolicyConfig } from '../../config-schema/sections.ts'
import type { Sampling } from './acting.ts'

/** Returns how actions are sampled. The returned function is told whether the policy is evaluated, or trains. */
export function samplingOf(
  policy: PolicyConfig,
  evaluation: EvaluationConfig,
): (evaluating: boolean) => Sampling {
  return (evaluating) => ({
    temperature: evaluating ? (evaluation.temperature ?? policy.temperature) : policy.temperature,
    topP: evaluating ? (evaluation.topP ?? policy.topP) : policy.topP,
    logprobs: policy.expert.logprobs,
    ...(policy.expert.entropies ? { entropies: true } : {}),
    maxTokens: policy.maxTokens,
  })
}
