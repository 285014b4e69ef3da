/**
 * Reads an episode for the reward model and writes its verdicts: `intro > command END observation ? cause verdict >
 * command ...`. The model judges each step after it saw the step's observation. The cause decides, because it forces
 * the verdict. So the probability of a good verdict is known from the position of the cause alone. One sequence holds
 * one judgement of every step (a chain), and m judgements are m chains. So an episode's prefix is read once a chain,
 * not once a step.
 */

import { ASK, type Causes, causeWords, VERDICT_WORDS, verdictBehind } from '../../environments/causes.ts'
import { RlError } from '../../errors.ts'
import { itemAt } from '../../item-at.ts'
import { stableSum } from '../../learning/moments.ts'
import type { Score } from '../../learning/terms.ts'
import type { LocalGeneration } from '../../models/local/model.ts'
import type { TrainingSample } from '../../models/port.ts'
import { allowedColumns } from '../rollout/choices.ts'
import {
  type Codec,
  chatCodec,
  commandTokens,
  type EpisodeText,
  introTokens,
  observationTokens,
} from '../rollout/packing.ts'

export type JudgeCodec = {
  /** Tokens before the first step. */
  readonly opening: (episode: EpisodeText) => readonly number[]
  /** Returns the tokens of a step up to its judgement: the command and the observation after it. */
  readonly step: (episode: EpisodeText, step: number) => readonly number[]
  /** Causes that a judgement may name, and their words: praises first. */
  readonly vocabulary: Causes
  readonly words: readonly string[]
  /** [words] their tokens. */
  readonly causes: readonly number[]
  readonly good: number
  readonly bad: number
  /** Every cause with the verdict that follows from it, in the order of the words. */
  readonly choices: readonly (readonly [number, number])[]
}

/**
 * Returns the codec of models with a vocabulary of ours, as trained with `judgeWords`. Each cause and verdict is one
 * token of its own.
 */
export function judgeCodecOf(codec: Codec, vocabulary: Causes): JudgeCodec {
  const single = (word: string) => itemAt(codec.encode(word), 0)
  const [good, bad] = [single(VERDICT_WORDS[0]), single(VERDICT_WORDS[1])]
  return {
    ...judgementsOf(vocabulary, causeWords(vocabulary).map(single), { good, bad }),
    opening: ({ goal, observations }) => introTokens(codec, goal, itemAt(observations, 0)),
    step: ({ actions, observations }, step) => [
      codec.turn,
      ...commandTokens(codec, itemAt(actions, step)),
      ...observationTokens(codec, itemAt(observations, step + 1)),
      single(ASK),
    ],
  }
}

/**
 * Returns the codec of models with a chat template. Each step is a user's message. The answer is a letter, which stands
 * for a cause, and the end of the turn. The system message is the key to the letters.
 *
 * @throws RlError `model.tokenizer` if the letters are not tokens of their own, or the template does not fit
 */
export function chatJudgeCodec(tokenizer: Parameters<typeof chatCodec>[0], vocabulary: Causes): JudgeCodec {
  const { praises, complaints } = vocabulary
  const meanings = Object.values({ ...praises, ...complaints })
  const letters = meanings.map((_, i) => String.fromCharCode(65 + i))
  const encoded = letters.map((letter) => tokenizer.encode(letter))
  const causes = encoded.flatMap((tokens) => Array.from(tokens).slice(0, 1))
  if (encoded.some(({ length }) => length !== 1) || new Set(causes).size < causes.length)
    throw new RlError(`the letters ${letters.join(', ')} are not tokens of their own`, {
      code: 'model.tokenizer',
      hint: 'judge by an endpoint: rewardModel.provider openai',
    })
  const key = letters.map((letter, i) => `${letter} = it ${meanings[i]}`).join('; ')
  const codec = chatCodec(
    tokenizer,
    `You judge, step by step, the commands of somebody who is to do a task. Answer each step with one letter: ${key}.`,
  )
  const told = ({ actions, observations }: EpisodeText, step: number) =>
    `Command: ${actions[step]}\nResult: ${observations[step + 1]}`
  return {
    ...judgementsOf(vocabulary, causes, { good: codec.end, bad: codec.end }),
    opening: () => [],
    step(episode, step) {
      const { goal, observations } = episode
      const before =
        step === 0
          ? introTokens(codec, goal, `${observations[0]}\n\n${told(episode, 0)}`)
          : observationTokens(codec, told(episode, step))
      return [...before, codec.turn]
    },
  }
}

function judgementsOf(
  vocabulary: Causes,
  causes: readonly number[],
  { good, bad }: Pick<JudgeCodec, 'good' | 'bad'>,
): Omit<JudgeCodec, 'opening' | 'step'> {
  const words = causeWords(vocabulary)
  const verdict = (word: string) => (verdictBehind(vocabulary, word) === 1 ? good : bad)
  return {
    vocabulary,
    words,
    causes,
    good,
    bad,
    choices: words.map((word, i) => [itemAt(causes, i), verdict(word)] as const),
  }
}

/** One generated judgement of a step. */
export type Judgement = {
  /** One of the vocabulary's words. */
  readonly cause: string
  readonly score: Score
  /** [2] cause and verdict. */
  readonly tokens: Int32Array
  /** [2]: log-probs, each renormalised over its alternatives. The verdict has no alternative, so its log-prob is 0. */
  readonly logprobs: Float32Array
  /** The probability of a good verdict at this place: of all causes of praise together. */
  readonly goodProbability: number
}

/**
 * Reads a generated judgement. Returns null if it is not a cause with its verdict.
 *
 * @param first log-probs of the causes at the judgement's first place
 */
export function readVerdict(
  { vocabulary, words, causes, good, bad }: JudgeCodec,
  { tokens, logprobs, top }: Pick<LocalGeneration, 'tokens' | 'logprobs' | 'top'>,
): Judgement | null {
  const [first, second] = tokens
  if (tokens.length !== 2 || first === undefined) return null
  const cause = words[causes.indexOf(first)]
  if (cause === undefined) return null
  const score = verdictBehind(vocabulary, cause)
  if (second !== (score === 1 ? good : bad)) return null
  const praise = itemAt(top, 0).filter(({ token }) => {
    const word = words[causes.indexOf(token)]
    return word !== undefined && verdictBehind(vocabulary, word) === 1
  })
  const goodProbability = Math.min(1, stableSum(praise.map(({ logprob }) => Math.exp(logprob))))
  return { cause, score, tokens, logprobs, goodProbability }
}

/** One chain's judgement of one step, to be learned from. */
export type JudgedStep = {
  readonly tokens: ArrayLike<number>
  readonly logprobs: ArrayLike<number>
  /** Advantage of this judgement. With 0 it stays untrained. It is 1 for supervised samples. */
  readonly advantage: number
}

/**
 * Returns one chain as a training sample. Steps beyond `steps` are left out. Returns null if nothing is trained.
 *
 * @param steps one for each judged step, from the first on
 */
export function chainSample(
  id: string,
  judge: JudgeCodec,
  episode: EpisodeText,
  steps: readonly JudgedStep[],
): TrainingSample | null {
  if (!steps.some(({ advantage }) => advantage !== 0)) return null
  const tokens = [...judge.opening(episode)]
  const mask: number[] = tokens.map(() => 0)
  const advantages: number[] = [...mask]
  const logprobs: number[] = [...mask]
  const allowed: (readonly number[])[] = tokens.map(() => [])
  const causes = [...judge.causes].sort((a, b) => a - b)
  const append = (
    token: number,
    trained: boolean,
    advantage = 0,
    logprob = 0,
    options: readonly number[] = [],
  ) => {
    tokens.push(token)
    mask.push(trained ? 1 : 0)
    advantages.push(advantage)
    logprobs.push(logprob)
    allowed.push(options)
  }
  for (const [i, step] of steps.entries()) {
    for (const token of judge.step(episode, i)) append(token, false)
    const trained = step.advantage !== 0
    append(itemAt(step.tokens, 0), trained, step.advantage, step.logprobs[0], causes)
    append(itemAt(step.tokens, 1), false)
  }
  return {
    id,
    tokens: Int32Array.from(tokens),
    mask: Uint8Array.from(mask),
    advantages: Float32Array.from(advantages),
    logprobs: Float32Array.from(logprobs),
    allowed: allowedColumns(allowed),
  }
}
