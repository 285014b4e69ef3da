/**
 * Acts with models that read prompts. The prompt holds the whole episode in words. The answer is the number of an
 * option, or a command.
 */

import { parseNumbered, parsePlain } from '../../environments/answers.ts'
import { float32Column, int32Column } from '../../events/columns.ts'
import { itemAt } from '../../item-at.ts'
import type { GenerateRequest, Generation } from '../../models/port.ts'
import { type TrainedAnswer, trainedAnswer } from '../../models/trained-answer.ts'
import { episodeText, type PromptFile } from '../learner/prompts.ts'
import { reasoningText } from '../learner/reasoning.ts'
import type { ActReply, ActRequest, PackedTokens } from '../rollout/act.ts'
import { allowedColumns } from '../rollout/choices.ts'
import type { Acting, Prompting } from './acting.ts'

type Answered = {
  readonly action: string
  /** Kind of fault in the answer, so that fallbacks can be counted. Null if there is none. */
  readonly invalid: string | null
}

/** Form in which options are shown, and answers are read and written. */
export type Form = {
  readonly options: (admissible: readonly string[]) => string
  readonly read: (answer: string, admissible: readonly string[]) => Answered
  /** The shortest answer that is read as this command. */
  readonly write: (command: string, admissible: readonly string[]) => string
}

/**
 * The published form: the first whole number in the last box. Without a number it is option 0. A number beyond the last
 * option is the last.
 */
export const numbered: Form = {
  options: (admissible) => admissible.map((command, index) => `${index}) ${command}`).join('\n'),
  read(answer, admissible) {
    const { command, problem } = parseNumbered(answer, admissible)
    const invalid = problem?.startsWith('option ') ? 'the option does not exist' : problem
    return { action: command, invalid }
  },
  write: (command, admissible) => `\\boxed{${admissible.indexOf(command)}}`,
}

/** The last line that is an admissible command, else the first admissible command. */
export const free: Form = {
  options: (admissible) => admissible.join('\n'),
  read(answer, admissible) {
    const { command, problem } = parsePlain(answer, admissible)
    const invalid = problem === null || answer.trim() === '' ? problem : 'not an admissible command'
    return { action: command, invalid }
  },
  write: (command) => command,
}

/** Decisions that each way of acting by prompts makes for itself. */
export type Asking = {
  /** @param shown highest number of earlier steps; if absent, all that the config allows */
  readonly promptOf: (act: ActRequest, shown?: number) => GenerateRequest['prompt']
  readonly read: (generation: Generation, act: ActRequest) => Answered
  /** Columns of tokens, and whether they go on in the open segment. */
  readonly pack: (generation: Generation, act: ActRequest) => Pick<ActReply, 'tokens' | 'continues'>
}

/** Asks for an answer to a prompt. An unreadable answer of full length was cut off. */
export function askingActing(prompt: PromptFile, { promptOf, read, pack }: Asking): Acting {
  return (act, sampling, shown) => ({
    request: {
      prompt: promptOf(act, shown),
      maxTokens: sampling.maxTokens,
      temperature: sampling.temperature,
      topP: sampling.topP,
      logprobs: sampling.logprobs,
      seed: act.seed,
      cacheKey: act.rollout,
    },
    reply(generation) {
      if (generation === null) throw new TypeError('every turn has a request')
      const { action, invalid } = read(generation, act)
      const { finish } = generation
      const cut = invalid !== null && finish === 'length'
      return {
        action,
        invalid: finish === 'refused' ? 'the answer was refused' : cut ? 'the answer was cut off' : invalid,
        fits: true,
        ...pack(generation, act),
        ...reasoningText(generation),
        promptSha256: prompt.sha256,
        usage: generation.usage,
      }
    },
  })
}

export function promptedActing(prompt: PromptFile, form: Form, prompting: Prompting): Acting {
  return askingActing(prompt, {
    promptOf: (act, shown = prompting.historySteps ?? act.actions.length) => ({
      messages: prompt.render(valuesOf(act, form, shown)),
    }),
    read: ({ text }, { admissible }) => form.read(text, admissible),
    pack: (generation) => ({ tokens: packAnswer(generation, prompting), continues: false }),
  })
}

function valuesOf({ goal, observations, actions, admissible }: ActRequest, form: Form, steps: number) {
  return {
    goal,
    history: episodeText({ observations, actions }, { steps }),
    options: form.options(admissible),
  }
}

/**
 * Packs a prompt with its answer as one segment. Returns null if nothing can be learned from it
 * (models/trained-answer.ts).
 *
 * @param from number of prompt tokens that stand in the segment already
 */
export function packAnswer(
  { promptTokens: prompt, tokens, logprobs, reasoning, allowed }: Generation,
  { trainReasoning }: Pick<Prompting, 'trainReasoning'>,
  from = 0,
): PackedTokens | null {
  const told = { prompt, tokens, logprobs, reasoningTokens: reasoning?.tokens }
  const packed = trainedAnswer(told, { trainReasoning, from })
  return packed && packedColumns(packed, allowed)
}

/** Returns the columns in the form of events. A token that was the only one allowed is not trained. An empty list allows all. */
function packedColumns(
  { promptLength, tokens, mask, logprobs }: TrainedAnswer,
  allowed: Generation['allowed'],
): PackedTokens {
  const packed = { promptLength, tokensI32: int32Column(tokens), logprobsF32: float32Column(logprobs) }
  if (!allowed) return { ...packed, maskU8: mask }
  const choicesAt = (t: number) => itemAt(allowed, t - promptLength)
  const isDrawn = (t: number) => t < promptLength || choicesAt(t).length !== 1
  const lists = Array.from(tokens, (_, t) => (t >= promptLength && isDrawn(t) ? choicesAt(t) : []))
  const columns = allowedColumns(lists)
  return {
    ...packed,
    maskU8: mask.map((trained, t) => (isDrawn(t) ? trained : 0)),
    allowedOffsetsI32: int32Column(columns.offsets),
    allowedI32: int32Column(columns.tokens),
  }
}
