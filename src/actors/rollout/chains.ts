/** Reading episodes with a local model that says something of each step: m chains each, all episodes side by side. */
import { itemAt } from '../../item-at.ts'
import type { LocalGeneration, LocalModelFace, LocalRequest } from '../../models/local/model.ts'
import type { GenerateRequest } from '../../models/port.ts'
import { type Seed, seedOf } from '../../random.ts'
import type { EpisodeText } from './packing.ts'

export type ReadEpisode = EpisodeText & { readonly id: string; readonly seed: Seed }

/** Tokens of an episode as a model reads them. Behind each step it writes two tokens. */
type Reader = {
  readonly opening: (episode: EpisodeText) => readonly number[]
  readonly step: (episode: EpisodeText, step: number) => readonly number[]
}

export type StepReader<T> = Reader &
  Pick<LocalRequest, 'choices' | 'topLogprobs'> & {
    /** Reads the tokens that were written. */
    readonly read: (generation: LocalGeneration) => T
  }

export type ChainSettings = Pick<GenerateRequest, 'logprobs'> & {
  /** Chains of each episode. */
  readonly samples: number
  readonly temperature: number
  readonly topP: number
  /** Context of the model. Steps that no longer fit are not read. */
  readonly contextTokens: number
}

/** Tokens that a model writes behind a step. */
const WRITTEN = 2

type Chain<T> = {
  readonly episode: ReadEpisode
  readonly index: number
  readonly tokens: number[]
  readonly said: T[]
}

/** Tokens that the model keeps while it reads an episode once. */
export function chainTokens(reader: Reader, episode: EpisodeText): number {
  const steps = episode.actions.map((_, step) => reader.step(episode, step).length + WRITTEN)
  return steps.reduce((sum, tokens) => sum + tokens, reader.opening(episode).length)
}

/**
 * Resolves to readings of each step, [episodes][steps][m]. A step beyond the context has none. A reading
 * depends on the episode, its seed and the step's place in its chain. It does not depend on what is read beside it.
 */
export async function readInChains<T>(
  model: Pick<LocalModelFace, 'sample'>,
  reader: StepReader<T>,
  episodes: readonly ReadEpisode[],
  { samples, temperature, topP, logprobs, contextTokens }: ChainSettings,
  signal?: AbortSignal,
): Promise<(readonly (readonly T[])[])[]> {
  const chains = episodes.map((episode) =>
    Array.from(
      { length: samples },
      (_, index): Chain<T> => ({ episode, index, tokens: [...reader.opening(episode)], said: [] }),
    ),
  )
  const longest = Math.max(0, ...episodes.map(({ actions }) => actions.length))
  let live = chains.flat()
  for (let step = 0; step < longest; step++) {
    live = live.filter(({ episode, tokens }) => {
      if (step >= episode.actions.length) return false
      const more = reader.step(episode, step)
      if (tokens.length + more.length + WRITTEN > contextTokens) return false
      tokens.push(...more)
      return true
    })
    if (live.length === 0) break
    const generations = await model.sample(
      live.map(({ episode, index, tokens }) => ({
        prompt: { tokens: Int32Array.from(tokens) },
        maxTokens: WRITTEN,
        ...{ temperature, topP, logprobs },
        seed: seedOf(episode.seed, 'chain', index, step),
        choices: reader.choices,
        topLogprobs: reader.topLogprobs,
        cacheKey: `${episode.id}#${index}`,
      })),
      { signal },
    )
    for (const [i, generation] of generations.entries()) {
      const { said, tokens } = itemAt(live, i)
      said.push(reader.read(generation))
      tokens.push(...generation.tokens)
    }
  }
  return episodes.map((episode, e) =>
    episode.actions.map((_, step) => itemAt(chains, e).flatMap(({ said }) => said.slice(step, step + 1))),
  )
}
