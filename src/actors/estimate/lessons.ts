/** Episodes with known estimates as samples to learn from. */
import { itemAt } from '../../item-at.ts'
import type { TrainingSample } from '../../models/port.ts'
import { rng, type Seed, seedOf } from '../../random.ts'
import { allowedColumns } from '../rollout/choices.ts'
import type { EpisodeText } from '../rollout/packing.ts'
import { BINS, binOf, type EstimateCodec, fallOf } from './form.ts'

export type EstimatedEpisode = EpisodeText & {
  readonly id: string
  readonly seed: Seed
  /** [actions + 1] expected number of steps that remain, as the setting says it. */
  readonly remaining: ArrayLike<number>
}

/** [actions] bins that a judge wrote itself. A step that it did not read is missing. */
export type OwnBins = readonly (number | null | undefined)[]

/** Distance from which a judge's own bin is wrong. */
const MISS = 1

/** Share of wrong bins that are put right. The others stay, and a judge learns to go on from them. */
const PUT_RIGHT = 0.5

/** By how much the rest fell with a step. */
export function fallAt({ remaining }: Pick<EstimatedEpisode, 'remaining'>, step: number): number {
  return itemAt(remaining, step) - itemAt(remaining, step + 1)
}

/**
 * Returns an episode as a sample, or null if no step of it fits. Bins and falls are learned. An own bin that is wrong and stays is
 * not.
 *
 * @param own bins that the judge wrote itself, if it has read the episode
 */
export function lessonOf(
  codec: EstimateCodec,
  episode: EstimatedEpisode,
  contextTokens: number,
  own: OwnBins = [],
): TrainingSample | null {
  const random = rng(seedOf(episode.seed, 'lesson'))
  const tokens = [...codec.opening(episode)]
  const mask: number[] = tokens.map(() => 0)
  const allowed: (readonly number[])[] = tokens.map(() => [])
  const [bins, falls] = [ascending(codec.bins), ascending(codec.falls)]
  const append = (token: number, options: readonly number[] = [], learned = false) => {
    tokens.push(token)
    mask.push(learned ? 1 : 0)
    allowed.push(options)
  }
  for (const step of episode.actions.keys()) {
    const told = codec.step(episode, step)
    if (tokens.length + told.length + 2 > contextTokens) break
    for (const token of told) append(token)
    const remaining = itemAt(episode.remaining, step + 1)
    const bin = own[step] ?? null
    const isWrong = bin !== null && Math.abs(bin - Math.min(remaining, BINS - 1)) >= MISS
    const stays = isWrong && random.uniform() >= PUT_RIGHT
    append(itemAt(codec.bins, stays ? bin : binOf(remaining)), bins, !stays)
    append(itemAt(codec.falls, fallOf(fallAt(episode, step), random)), falls, true)
  }
  if (!mask.includes(1)) return null
  return {
    id: episode.id,
    tokens: Int32Array.from(tokens),
    mask: Uint8Array.from(mask),
    advantages: Float32Array.from(mask),
    logprobs: new Float32Array(tokens.length),
    allowed: allowedColumns(allowed),
  }
}

function ascending(tokens: readonly number[]): readonly number[] {
  return [...tokens].sort((a, b) => a - b)
}
