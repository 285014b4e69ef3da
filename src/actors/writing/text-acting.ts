/** Acting by texts: the model's whole answer is the action. */

import type { Texts } from '../../environments/setting.ts'
import { float32Column, int32Column } from '../../events/columns.ts'
import { itemAt } from '../../item-at.ts'
import { episodeText, type PromptFile } from '../learner/prompts.ts'
import { type Acting, NOT_FITTING, type Prompting } from '../policy/acting.ts'
import { askingActing, packAnswer } from '../policy/prompted-acting.ts'
import { type TextCodec, textPrompt } from './packing.ts'

/** Acts with models that read prompts. An unusable answer is an action all the same, and is counted. */
export function promptedTexts({ invalid }: Texts, prompt: PromptFile, prompting: Prompting): Acting {
  return askingActing(prompt, {
    promptOf({ goal, observations, actions }, shown) {
      const history = episodeText({ observations, actions }, { steps: shown ?? prompting.historySteps })
      return { messages: prompt.render({ goal, history, problem: itemAt(observations, 0) }) }
    },
    read: ({ text }) => ({ action: text, invalid: invalid?.(text) ?? null }),
    pack: (generation) => ({ tokens: packAnswer(generation, prompting), continues: false }),
  })
}

/**
 * Acts with small models. They read the goal and write the text alone, token by token, to the end token. Every sampled
 * token is trained.
 */
export function sampledTexts(codec: TextCodec, contextTokens: number): Acting {
  return ({ goal, seed }, sampling) => {
    const prompt = textPrompt(codec, 'program', goal)
    if (prompt.length + sampling.maxTokens > contextTokens) return { request: null, reply: () => NOT_FITTING }
    return {
      request: {
        prompt: { tokens: prompt },
        maxTokens: sampling.maxTokens,
        temperature: sampling.temperature,
        topP: sampling.topP,
        logprobs: sampling.logprobs,
        seed,
        stopTokens: [codec.end],
      },
      reply(generation) {
        if (!generation?.tokens || !generation.logprobs) return NOT_FITTING
        const { tokens, logprobs, finish, usage } = generation
        return {
          action: codec.decode(tokens),
          invalid: finish === 'length' ? 'the answer was cut off' : null,
          fits: true,
          continues: true,
          tokens: {
            promptLength: prompt.length,
            tokensI32: int32Column([...prompt, ...tokens]),
            maskU8: new Uint8Array(prompt.length + tokens.length).fill(1, prompt.length),
            logprobsF32: float32Column([...prompt.map(() => 0), ...logprobs]),
          },
          usage,
        }
      },
    }
  }
}
