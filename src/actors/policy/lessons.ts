/**
 * Turns an episode of the expert into samples of a model that is to act likewise. The samples use the words in which
 * the model will be asked.
 */

import type { PolicyConfig } from '../../config-schema/sections.ts'
import { type OpenSetting, partOf } from '../../environments/setting.ts'
import { RlError } from '../../errors.ts'
import { itemAt } from '../../item-at.ts'
import type { LocalModelFace } from '../../models/local/model.ts'
import type { TrainingSample } from '../../models/port.ts'
import type { Codec } from '../rollout/packing.ts'
import { answerSample } from '../writing/packing.ts'
import type { Acting } from './acting.ts'
import { listedPrompt } from './endpoint-worker.ts'
import { actingOf, releasedCodec } from './local-acting.ts'
import type { Form } from './prompted-acting.ts'
import { type Demonstration, demonstrationSample } from './samples.ts'

/** Lesson for one model. */
export type Lesson = {
  /** Returns no samples if even the beginning is too long. */
  readonly samplesOf: (demonstration: Demonstration) => readonly TrainingSample[]
  /** Tokens of the longest sample. */
  readonly mostTokens: number
  /** Names the setting to raise if all demonstrations are longer. */
  readonly hint: string
}

/** Lesson for any model. Its identity is part of the identity under which a start is kept. */
export type LessonPlan = {
  readonly identity: Readonly<Record<string, unknown>>
  readonly of: (model: LocalModelFace) => Lesson
}

/** Makes each episode one sample, whose commands are chosen under the trie of the allowed commands. */
export function packedLesson(codec: Codec, contextTokens: number): Lesson {
  return {
    samplesOf(demonstration) {
      const sample = demonstrationSample(codec, demonstration, contextTokens)
      return sample ? [sample] : []
    },
    mostTokens: contextTokens,
    hint: 'raise policy.contextTokens',
  }
}

/**
 * Teaches a released model in the form in which it acts. Returns null if it writes texts: nobody demonstrates texts to
 * it.
 */
export function releasedLesson(opened: OpenSetting, policy: PolicyConfig): LessonPlan | null {
  const part = partOf(opened.setting, 'acting', 'a local policy')
  if (part.kind === 'texts') return null
  if (policy.acting === 'choices')
    return { identity: {}, of: (model) => packedLesson(releasedCodec(model), policy.contextTokens) }
  const { acting, thinking, historySteps, maxTokens } = policy
  const { prompt, form } = listedPrompt(part, policy)
  return {
    identity: { prompted: { acting, prompt: prompt.sha256, thinking, historySteps, maxTokens } },
    of: (model) => promptedLesson(model, form, actingOf(model, policy, opened), policy),
  }
}

/**
 * Makes each step one sample. It has the prompt of acting. Its answer is the expert's command and the end of the turn.
 */
function promptedLesson(model: LocalModelFace, form: Form, acting: Acting, policy: PolicyConfig): Lesson {
  const { endToken } = model.tokenizer
  if (endToken === undefined)
    throw new RlError(`policy.model ${policy.model}: its tokenizer names no token that ends a turn`, {
      code: 'model.tokenizer',
      hint: 'begin without demonstrations: policy.coldStart.updates 0',
    })
  const mostTokens = Math.min(model.describe().contextTokens, policy.training.expert.tokenBudget)
  const stepSample = (demonstration: Demonstration, step: number): TrainingSample | null => {
    const { id, goal, observations, actions, admissible } = demonstration
    const { request } = acting(
      {
        rollout: id,
        task: id,
        kind: '',
        goal,
        policyVersion: 0,
        packedTokens: 0,
        observations: observations.slice(0, step + 1),
        actions: actions.slice(0, step),
        admissible: itemAt(admissible, step),
        seed: [0, 0],
        evaluation: false,
      },
      { temperature: 1, topP: 1, maxTokens: policy.maxTokens },
    )
    if (!request || !('tokens' in request.prompt)) return null
    const answer = [...model.encode(form.write(itemAt(actions, step), itemAt(admissible, step))), endToken]
    const sample = answerSample(`${id}, step ${step + 1}`, Array.from(request.prompt.tokens), answer)
    return sample.tokens.length > mostTokens ? null : sample
  }
  return {
    samplesOf: (demonstration) =>
      demonstration.actions.flatMap((_, step) => stepSample(demonstration, step) ?? []),
    mostTokens,
    hint: 'raise policy.training.tokenBudget and policy.cacheMegabytes, or show fewer steps (policy.historySteps)',
  }
}
