import type { Config } from '../../config.ts'
import type { Sampling } from './acting.ts'

/** Returns the sampling of actions, in training or in evaluation. */
export function samplingOf({ policy, evaluation }: Config, evaluating: boolean): Sampling {
  return {
    temperature: evaluating ? (evaluation.temperature ?? policy.temperature) : policy.temperature,
    topP: evaluating ? (evaluation.topP ?? policy.topP) : policy.topP,
    logprobs: policy.expert.logprobs,
    maxTokens: policy.maxTokens,
  }
}
