/**
 * Turns an iteration's judgements by prompts into a batch for training their model elsewhere: each prompt with its
 * answer.
 */
import type { EventData } from '../../events/catalogue.ts'
import { readFloat32, readInt32 } from '../../events/columns.ts'
import type { TrainingSample } from '../../models/port.ts'
import { trainedAnswer } from '../../models/trained-answer.ts'
import type { LearnableGroup } from '../decider/jobs.ts'
import type { OutsideBatch } from '../learner/outside.ts'
import { type JudgeBatchSettings, judgementAdvantages } from './batch.ts'

/**
 * Prompt and answer of a model behind an endpoint, as the log keeps them: columns of Int32 and Float32. They are empty
 * if unknown.
 */
export type ToldAnswer = {
  readonly promptI32?: Uint8Array
  readonly tokensI32: Uint8Array
  readonly logprobsF32: Uint8Array
  readonly reasoningTokens?: number
}

/**
 * Returns the answer as a sample in which everything, or everything except its reasoning, is trained. Returns null if
 * nothing can be learned from it.
 */
export function toldSample(
  id: string,
  { promptI32, tokensI32, logprobsF32, reasoningTokens = 0 }: ToldAnswer,
  advantage: number,
  { trainReasoning }: { readonly trainReasoning: boolean },
): TrainingSample | null {
  const told = {
    prompt: promptI32 && readInt32(promptI32),
    tokens: readInt32(tokensI32),
    logprobs: readFloat32(logprobsF32),
    reasoningTokens,
  }
  const packed = trainedAnswer(told, { trainReasoning })
  if (!packed?.mask.includes(1)) return null
  const { tokens, mask, logprobs } = packed
  const advantages = new Float32Array(tokens.length).fill(advantage, mask.indexOf(1))
  return { id, tokens, logprobs, mask, advantages }
}

/**
 * Returns one sample for each judgement with an advantage, in order of the rollouts. Judgements without tokens are
 * counted.
 */
export function promptedJudgeBatch(
  groups: readonly LearnableGroup[],
  trajectories: readonly EventData<'TrajectoryCompleted'>[],
  scored: readonly EventData<'StepScored'>[],
  settings: JudgeBatchSettings,
): OutsideBatch {
  const { kept, advantages, health } = judgementAdvantages(groups, trajectories, scored, settings)
  const samples: OutsideBatch['samples'][number][] = []
  const rollouts = new Set<string>()
  let unknown = 0
  for (const { id: rollout, scored } of kept)
    for (const [row, { step, promptI32, judgements, rewardModelVersion }] of scored.entries())
      for (const [m, judgement] of judgements.entries()) {
        const advantage = advantages.byRollout.get(rollout)?.[row]?.[m] ?? 0
        if (advantage === 0) continue
        const { trainReasoning } = settings.rewardModel.expert
        const sample = toldSample(`${rollout}#${step}.${m}`, { promptI32, ...judgement }, advantage, {
          trainReasoning,
        })
        if (sample === null) unknown++
        else {
          samples.push({ ...sample, policyVersion: rewardModelVersion })
          rollouts.add(rollout)
        }
      }
  return {
    samples,
    trainedOn: [...rollouts],
    health: { ...health, ...(unknown > 0 ? { untrainable: unknown } : {}) },
    none: unknown > 0 ? 'the endpoint tells no token ids and log-probs' : 'no judgement has an advantage',
  }
}
