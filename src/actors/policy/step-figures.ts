/** Figures of a step that a local model can tell beside its answer. */
import { stableMean, stableSum } from '../../learning/moments.ts'
import type { GenerateRequest, Generation } from '../../models/port.ts'
import type { ActReply } from '../rollout/act.ts'

/** Returns the request that asks another model for the log-probs of the same answer. */
export function givenAs(generations: readonly Generation[]) {
  return (request: GenerateRequest, i: number): GenerateRequest => {
    const given = Array.from(generations[i]?.tokens ?? [])
    return { ...request, given, maxTokens: given.length, entropies: false }
  }
}

/**
 * Returns entropy and base log-prob of a step. Only tokens that are trained count. A figure that nobody asked for is absent.
 *
 * @param based what version 0 says of the same tokens
 */
export function stepFigures(
  { tokens }: Pick<ActReply, 'tokens'>,
  generation: Generation | null,
  based: Generation | null,
): Pick<ActReply, 'entropy' | 'baseLogprob'> {
  if (tokens === null || generation === null) return {}
  const sampled = tokens.maskU8.subarray(tokens.promptLength)
  const trained = (values: Float32Array) => values.filter((_, t) => sampled[t] === 1)
  const { entropies } = generation
  const baseLogprobs = based?.logprobs
  return {
    ...(entropies ? { entropy: stableMean(Float64Array.from(trained(entropies))) } : {}),
    ...(baseLogprobs ? { baseLogprob: stableSum(trained(baseLogprobs)) } : {}),
  }
}
