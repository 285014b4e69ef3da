/** Writing programs: the problem is the prompt, the whole answer is the action, and the environment reads the program out of it. */
import { parseProgram } from '../../environments/coding/parse.ts'
import { float32Column, int32Column } from '../../events/columns.ts'
import type { PromptFile } from '../learner/prompts.ts'
import type { Acting } from '../policy/acting.ts'
import { packAnswer } from '../policy/prompted-acting.ts'
import { type ProgramCodec, programPrompt } from './program-packing.ts'

/** For models that read prompts. An answer without a program is an action all the same: its program is none, and fails. */
export function promptedPrograms(prompt: PromptFile): Acting {
  return ({ rollout, observations, seed }, sampling) => ({
    request: {
      prompt: { messages: prompt.render({ problem: observations[0] }) },
      maxTokens: sampling.maxTokens,
      temperature: sampling.temperature,
      topP: sampling.topP,
      seed,
      cacheKey: rollout,
    },
    reply(generation) {
      if (generation === null) throw new TypeError('every turn has a request')
      const parsed = parseProgram(generation.text)
      const reason = 'program' in parsed ? null : parsed.reason
      return {
        action: generation.text,
        invalid: reason !== null && generation.finish === 'length' ? 'the answer was cut off' : reason,
        fits: true,
        continues: false,
        tokens: packAnswer(generation),
        promptSha256: prompt.sha256,
        usage: generation.usage,
      }
    },
  })
}

/**
 * For small models: the program's text alone, token by token, to the end token. They read the question without its examples,
 * which tell nothing that it does not say. Every sampled token is trained.
 */
export function sampledPrograms(codec: ProgramCodec, contextTokens: number): Acting {
  return ({ goal, seed }, sampling) => {
    const prompt = programPrompt(codec, 'program', goal)
    if (prompt.length + sampling.maxTokens > contextTokens) return { request: null, reply: () => NOT_FITTING }
    return {
      request: {
        prompt: { tokens: prompt },
        maxTokens: sampling.maxTokens,
        temperature: sampling.temperature,
        topP: sampling.topP,
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

const NOT_FITTING = {
  action: '',
  invalid: null,
  fits: false,
  continues: true,
  tokens: null,
  usage: { promptTokens: 0, cachedTokens: 0, completionTokens: 0 },
} as const
