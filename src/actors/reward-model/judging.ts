/**
 * How the reward model reads an episode and what it writes: `intro > command END observation ? cause verdict > command ...`.
 * It judges each step after it saw the step's observation. One sequence holds one judgement of every step (a chain); m
 * judgements are m chains, so an episode's prefix is read once a chain, not once a step.
 */
import type { Score } from '../../learning/reward.ts'
import type { TrainingSample } from '../../models/port.ts'
import { allowedColumns } from '../policy/choices.ts'
import {
  type Codec,
  commandTokens,
  type EpisodeText,
  introTokens,
  observationTokens,
} from '../policy/packing.ts'
import { CAUSE_WORDS, type Cause, VERDICT_WORDS } from './causes.ts'

/** Asks for a judgement. */
const ASK = '?'

export type JudgeCodec = {
  readonly codec: Codec
  readonly ask: number
  /** In the order of CAUSE_WORDS. */
  readonly causes: readonly number[]
  readonly good: number
  readonly bad: number
  /** Every [cause, verdict]. */
  readonly choices: readonly (readonly [number, number])[]
}

/** Needs each cause and verdict to be one token of its own, as in tokenizers that were trained with `judgeWords`. */
export function judgeCodecOf(codec: Codec): JudgeCodec {
  const single = (word: string) => codec.encode(word)[0]
  const causes = CAUSE_WORDS.map(single)
  const [good, bad] = VERDICT_WORDS.map(single)
  return {
    codec,
    ask: single(ASK),
    causes,
    good,
    bad,
    choices: causes.flatMap((cause) => [[cause, good] as const, [cause, bad] as const]),
  }
}

/** Words that a tokenizer must hold for judging. */
export const judgeWords: readonly string[] = [...CAUSE_WORDS, ...VERDICT_WORDS, ASK]

/** One generated judgement of a step. */
export type Verdict = {
  readonly cause: Cause
  readonly score: Score
  /** [2] cause and verdict. */
  readonly tokens: Int32Array
  /** [2] log-probs, each renormalised over its alternatives. */
  readonly logprobs: Float32Array
}

/** The step's tokens up to the question: command, end, observation, `?`. */
export function stepTokens({ codec, ask }: JudgeCodec, episode: EpisodeText, step: number): number[] {
  return [
    codec.turn,
    ...commandTokens(codec, episode.actions[step]),
    ...observationTokens(codec, episode.observations[step + 1]),
    ask,
  ]
}

/** Reads generated tokens; null where they are not a cause and a verdict. */
export function readVerdict(
  { causes, good, bad }: JudgeCodec,
  tokens: Int32Array,
  logprobs: Float32Array,
): Verdict | null {
  const cause = CAUSE_WORDS[causes.indexOf(tokens[0])]
  if (tokens.length !== 2 || cause === undefined || (tokens[1] !== good && tokens[1] !== bad)) return null
  return { cause, score: tokens[1] === good ? 1 : -1, tokens, logprobs }
}

/** Probability of a good verdict behind the cause that was written. */
export function goodProbability({ score, logprobs }: Verdict): number {
  const own = Math.exp(logprobs[1])
  return score === 1 ? own : 1 - own
}

/** What one chain says of one step, to be learned from. */
export type JudgedStep = {
  readonly tokens: ArrayLike<number>
  readonly logprobs: ArrayLike<number>
  /** Of this judgement; 0 leaves it untrained. For supervised samples 1. */
  readonly advantage: number
}

/**
 * One chain as a training sample. Steps beyond those in `steps` are left out; null where nothing is trained.
 * @param steps one for each judged step, from the first on
 */
export function chainSample(
  id: string,
  judge: JudgeCodec,
  episode: EpisodeText,
  steps: readonly JudgedStep[],
): TrainingSample | null {
  if (!steps.some(({ advantage }) => advantage !== 0)) return null
  const tokens = [...introTokens(judge.codec, episode.goal, episode.observations[0])]
  const mask: number[] = tokens.map(() => 0)
  const advantages: number[] = [...mask]
  const logprobs: number[] = [...mask]
  const allowed: (readonly number[])[] = tokens.map(() => [])
  const verdicts = [judge.good, judge.bad].sort((a, b) => a - b)
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
    for (const token of stepTokens(judge, episode, i)) append(token, false)
    const trained = step.advantage !== 0
    append(step.tokens[0], trained, step.advantage, step.logprobs[0], causes)
    append(step.tokens[1], trained, step.advantage, step.logprobs[1], verdicts)
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
