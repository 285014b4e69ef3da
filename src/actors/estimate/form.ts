/**
 * The form of judgement `estimate`: `intro > command END observation ? BIN FALL > command ...`. BIN says how many steps are
 * expected to remain after the step. FALL says by how much that number fell. A step's figure is the expectation over the nine
 * falls, given the bin that was drawn. So what a judge says of a step rests on what it said before.
 */
import { ASK } from '../../environments/causes.ts'
import { itemAt } from '../../item-at.ts'
import { stableSum } from '../../learning/moments.ts'
import type { LocalGeneration } from '../../models/local/model.ts'
import type { Rng } from '../../random.ts'
import {
  type Codec,
  commandTokens,
  type EpisodeText,
  introTokens,
  observationTokens,
} from '../rollout/packing.ts'

/** Bins of a whole number of steps. The last one holds all above. */
export const BINS = 26

/** Falls from -2 to 2. A larger fall counts as the nearest. */
export const FALLS: readonly number[] = Array.from({ length: 9 }, (_, index) => (index - 4) / 2)

/** A word has letters alone, so no tokenizer of ours divides it. */
const letter = (index: number) => String.fromCharCode(97 + index)
const BIN_WORDS = Array.from({ length: BINS }, (_, index) => `left-${letter(index)}`)
const FALL_WORDS = FALLS.map((_, index) => `fall-${letter(index)}`)

/** Words that the tokenizer of such a judge holds beside those of the setting. */
export const ESTIMATE_WORDS: readonly string[] = [...BIN_WORDS, ...FALL_WORDS, ASK]

export type EstimateCodec = {
  /** Tokens before the first step. */
  readonly opening: (episode: EpisodeText) => readonly number[]
  /** Returns the tokens of a step up to its estimate: the command and the observation after it. */
  readonly step: (episode: EpisodeText, step: number) => readonly number[]
  /** [26] and [9] tokens. */
  readonly bins: readonly number[]
  readonly falls: readonly number[]
  /** Every bin with every fall. */
  readonly choices: readonly (readonly [bin: number, fall: number])[]
}

export function estimateCodecOf(codec: Codec): EstimateCodec {
  const single = (word: string) => itemAt(codec.encode(word), 0)
  const [bins, falls] = [BIN_WORDS.map(single), FALL_WORDS.map(single)]
  return {
    opening: ({ goal, observations }) => introTokens(codec, goal, itemAt(observations, 0)),
    step: ({ actions, observations }, step) => [
      codec.turn,
      ...commandTokens(codec, itemAt(actions, step)),
      ...observationTokens(codec, itemAt(observations, step + 1)),
      single(ASK),
    ],
    bins,
    falls,
    choices: bins.flatMap((bin) => falls.map((fall) => [bin, fall] as const)),
  }
}

/** Returns the bin of an expected number of steps. */
export function binOf(remaining: number): number {
  return Math.max(0, Math.min(BINS - 1, Math.round(remaining)))
}

/**
 * Returns the index of one of the two falls around a number, the nearer one more often. So the expectation of many is the number,
 * if it lies from -2 to 2.
 */
export function fallOf(fall: number, random: Rng): number {
  const at = Math.max(0, Math.min(FALLS.length - 1, (fall + 2) * 2))
  const below = Math.floor(at)
  return random.uniform() < at - below ? below + 1 : below
}

/** One generated estimate of a step. */
export type StepEstimate = {
  /** Index of the drawn bin: the number of steps that remain. */
  readonly bin: number
  /** Expected fall, given the bin, in [-2, 2]. */
  readonly fall: number
  /** [2] bin and fall, as they were drawn. */
  readonly tokens: Int32Array
  readonly logprobs: Float32Array
}

/** Reads a generated estimate. Returns null if it is not a bin with a fall. */
export function readEstimate(
  { bins, falls }: Pick<EstimateCodec, 'bins' | 'falls'>,
  { tokens, logprobs, top }: Pick<LocalGeneration, 'tokens' | 'logprobs' | 'top'>,
): StepEstimate | null {
  const [first, second] = tokens
  if (tokens.length !== 2 || first === undefined || second === undefined) return null
  const bin = bins.indexOf(first)
  if (bin < 0 || !falls.includes(second)) return null
  return { bin, fall: expectedFall(falls, itemAt(top, 1)), tokens, logprobs }
}

/** @param top log-probs of all falls at their place */
function expectedFall(
  falls: readonly number[],
  top: readonly { readonly token: number; readonly logprob: number }[],
): number {
  const weighed = top.flatMap(({ token, logprob }) => {
    const index = falls.indexOf(token)
    return index < 0 ? [] : [{ weight: Math.exp(logprob), fall: itemAt(FALLS, index) }]
  })
  const weight = stableSum(weighed.map((one) => one.weight))
  const fall = stableSum(weighed.map((one) => one.weight * one.fall)) / weight
  return Math.max(-2, Math.min(2, fall))
}
