/** Reading episodes with a judge of the form `estimate`: m chains each, all episodes side by side. */
import { itemAt } from '../../item-at.ts'
import type { LocalModelFace } from '../../models/local/model.ts'
import { type Seed, seedOf } from '../../random.ts'
import type { EpisodeText } from '../rollout/packing.ts'
import { BINS, type EstimateCodec, readEstimate, type StepEstimate } from './form.ts'

export type ReadEpisode = EpisodeText & { readonly id: string; readonly seed: Seed }

export type ReadingSettings = {
  /** Chains of each episode. */
  readonly samples: number
  readonly temperature: number
  readonly topP: number
  readonly contextTokens: number
}

/** [steps][m]. A step beyond the context has none. An unreadable estimate is null. */
export type Estimates = readonly (readonly (StepEstimate | null)[])[]

type Chain = {
  readonly episode: ReadEpisode
  readonly index: number
  readonly tokens: number[]
  readonly estimates: (StepEstimate | null)[]
}

/** Tokens that the model keeps while it reads an episode once. */
export function estimateTokens(codec: EstimateCodec, episode: EpisodeText): number {
  const steps = episode.actions.map((_, step) => codec.step(episode, step).length + 2)
  return steps.reduce((sum, tokens) => sum + tokens, codec.opening(episode).length)
}

/**
 * Estimates every step of every episode m times. An estimate depends on the episode, its seed and the step's place in its chain. It
 * does not depend on what is read beside it.
 */
export async function readEpisodes(
  model: Pick<LocalModelFace, 'sample'>,
  codec: EstimateCodec,
  episodes: readonly ReadEpisode[],
  { samples, temperature, topP, contextTokens }: ReadingSettings,
): Promise<Estimates[]> {
  const chains = episodes.map((episode) =>
    Array.from(
      { length: samples },
      (_, index): Chain => ({ episode, index, tokens: [...codec.opening(episode)], estimates: [] }),
    ),
  )
  const longest = Math.max(0, ...episodes.map(({ actions }) => actions.length))
  let live = chains.flat()
  for (let step = 0; step < longest; step++) {
    live = live.filter(({ episode, tokens }) => {
      if (step >= episode.actions.length) return false
      const more = codec.step(episode, step)
      if (tokens.length + more.length + 2 > contextTokens) return false
      tokens.push(...more)
      return true
    })
    if (live.length === 0) break
    const generations = await model.sample(
      live.map(({ episode, index, tokens }) => ({
        prompt: { tokens: Int32Array.from(tokens) },
        maxTokens: 2,
        ...{ temperature, topP },
        seed: seedOf(episode.seed, 'chain', index, step),
        choices: codec.choices,
        topLogprobs: BINS,
        cacheKey: `${episode.id}#${index}`,
      })),
    )
    for (const [i, generation] of generations.entries()) {
      const { estimates, tokens } = itemAt(live, i)
      estimates.push(readEstimate(codec, generation))
      tokens.push(...generation.tokens)
    }
  }
  return episodes.map((episode, e) =>
    episode.actions.map((_, step) =>
      itemAt(chains, e).flatMap(({ estimates }) => estimates.slice(step, step + 1)),
    ),
  )
}
