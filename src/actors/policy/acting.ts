/** Asks a model for the next action of an episode, and reads its answer. */

import { explain } from '../../errors.ts'
import { float32Column, int32Column } from '../../events/columns.ts'
import { itemAt } from '../../item-at.ts'
import type { GenerateRequest, Generation } from '../../models/port.ts'
import { isSettingFault } from '../../user-code.ts'
import { type ActReply, type ActRequest, EMPTY_REPLY, type PackedTokens } from '../rollout/act.ts'
import { allowedColumns, choicePath } from '../rollout/choices.ts'
import { type Codec, commandTokens, promptTokens } from '../rollout/packing.ts'

export type Sampling = {
  readonly temperature: number
  readonly topP: number
  /** Temperature at which log-probs are logged. */
  readonly logprobs?: 'model' | 'sampling'
  /** Whether the entropy of each step is told. Local models only. */
  readonly entropies?: boolean
  /** Most tokens of one answer. */
  readonly maxTokens: number
}

/** One episode's turn: a request (null if the context is full), and the meaning of the generation. */
export type ActTurn = {
  readonly request: GenerateRequest | null
  readonly reply: (generation: Generation | null) => ActReply
}

/**
 * @param shown highest number of earlier steps, for prompts that would not fit; if absent, all that the config allows
 */
export type Acting = (act: ActRequest, sampling: Sampling, shown?: number) => ActTurn

/** Parts of an episode that a prompt shows, and parts of an answer that are trained. */
export type Prompting = {
  /** Number of earlier steps that the prompt shows. Null for all. */
  readonly historySteps: number | null
  readonly trainReasoning: boolean
}

/** The answer of an episode whose context is full. */
export const NOT_FITTING: ActReply = { ...EMPTY_REPLY, continues: true }

/**
 * Returns the answer for one episode if the setting's own code failed in it. Any other error concerns all episodes of
 * the request.
 */
export function faultOf(error: unknown): ActReply {
  if (!isSettingFault(error)) throw error
  return { ...EMPTY_REPLY, fault: explain(error), ofSetting: true }
}

/**
 * Acts for small models. The text of one admissible command is generated under a trie of all of them. Each episode is
 * one packed sequence. Tokens without an alternative are not trained.
 *
 * @param contextTokens context of the model; if the next command might not fit, the episode ends
 */
export function choiceActing(codec: Codec, contextTokens: number): Acting {
  return (act, sampling) => {
    const prompt = promptTokens(codec, act)
    const asked = act.hint === undefined ? prompt : promptTokens(codec, act, act.hint)
    const choices = act.admissible.map((command) => commandTokens(codec, command))
    const longest = Math.max(0, ...choices.map((choice) => choice.length))
    if (longest === 0 || asked.length + longest > contextTokens)
      return { request: null, reply: () => NOT_FITTING }
    return {
      request: {
        prompt: { tokens: asked },
        maxTokens: longest,
        temperature: sampling.temperature,
        topP: sampling.topP,
        logprobs: sampling.logprobs,
        seed: act.seed,
        choices,
        cacheKey: act.rollout,
      },
      reply: (generation) => {
        if (!generation?.tokens || !generation.logprobs) return NOT_FITTING
        const generated = generation.tokens
        const chosen = choices.findIndex(
          (choice) =>
            choice.length === generated.length && choice.every((token, i) => token === generated[i]),
        )
        return {
          action: itemAt(act.admissible, Math.max(0, chosen)),
          invalid: chosen < 0 ? 'not one of the choices' : null,
          fits: true,
          continues: true,
          tokens: packChoice(prompt.slice(act.packedTokens), generated, generation.logprobs, choices),
          usage: generation.usage,
        }
      },
    }
  }
}

/** Columns of one step: the prompt's new tokens, then the generated ones. */
function packChoice(
  prompt: readonly number[],
  generated: Int32Array,
  logprobs: Float32Array,
  choices: readonly (readonly number[])[],
): PackedTokens {
  const { mask, allowed } = choicePath(generated, choices)
  const { offsets, tokens } = allowedColumns([...prompt.map(() => []), ...allowed])
  return {
    promptLength: prompt.length,
    tokensI32: int32Column([...prompt, ...generated]),
    maskU8: Uint8Array.from([...prompt.map(() => 0), ...mask]),
    logprobsF32: float32Column([...prompt.map(() => 0), ...logprobs]),
    allowedOffsetsI32: int32Column(offsets),
    allowedI32: int32Column(tokens),
  }
}
