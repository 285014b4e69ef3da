/** Judging episodes with a local model: m chains each, all episodes side by side. */
import { itemAt } from '../../item-at.ts'
import type { LocalModelFace } from '../../models/local/model.ts'
import type { GenerateRequest } from '../../models/port.ts'
import { type Seed, seedOf } from '../../random.ts'
import type { EpisodeText } from '../rollout/packing.ts'
import { type JudgeCodec, type Judgement, readVerdict } from './judging.ts'

export type JudgedEpisode = EpisodeText & {
  readonly id: string
  readonly seed: Seed
}

export type JudgeSettings = {
  /** Judgements of each step. */
  readonly samples: number
  readonly temperature: number
  readonly topP: number
  /** Temperature of log-probs and of the probabilities of verdicts: 1 (`model`) if absent, or that of sampling. */
  readonly logprobs?: GenerateRequest['logprobs']
  /** Context of the model. Steps that no longer fit are not judged. */
  readonly contextTokens: number
}

/** [steps][m]: judgements. A step beyond the context has none, and an unreadable judgement is null. */
export type Judgements = readonly (readonly (Judgement | null)[])[]

type Chain = {
  readonly episode: JudgedEpisode
  readonly index: number
  readonly tokens: number[]
  readonly verdicts: (Judgement | null)[]
}

/** Tokens that the judge's model keeps while it judges an episode once. */
export function chainTokens(judge: JudgeCodec, episode: EpisodeText): number {
  const steps = episode.actions.map((_, step) => judge.step(episode, step).length + 2)
  return steps.reduce((sum, tokens) => sum + tokens, judge.opening(episode).length)
}

/**
 * Judges every step of every episode m times. A judgement depends on the episode, its seed and the step's place in its
 * chain. It does not depend on what is judged beside it.
 */
export async function judgeEpisodes(
  model: LocalModelFace,
  judge: JudgeCodec,
  episodes: readonly JudgedEpisode[],
  settings: JudgeSettings,
  signal?: AbortSignal,
): Promise<Judgements[]> {
  const chains = episodes.map((episode) =>
    Array.from(
      { length: settings.samples },
      (_, index): Chain => ({
        episode,
        index,
        tokens: [...judge.opening(episode)],
        verdicts: [],
      }),
    ),
  )
  const longest = Math.max(0, ...episodes.map(({ actions }) => actions.length))
  let live = chains.flat()
  for (let step = 0; step < longest; step++) {
    live = live.filter(({ episode, tokens, verdicts }) => {
      if (step >= episode.actions.length || verdicts.length < step) return false
      const more = judge.step(episode, step)
      if (tokens.length + more.length + 2 > settings.contextTokens) return false
      tokens.push(...more)
      return true
    })
    if (live.length === 0) break
    const generations = await model.sample(
      live.map(({ episode, index, tokens }) => ({
        prompt: { tokens: Int32Array.from(tokens) },
        maxTokens: 2,
        temperature: settings.temperature,
        topP: settings.topP,
        logprobs: settings.logprobs,
        seed: seedOf(episode.seed, 'chain', index, step),
        choices: judge.choices,
        topLogprobs: judge.causes.length,
        cacheKey: `${episode.id}#${index}`,
      })),
      { signal },
    )
    for (const [i, generation] of generations.entries()) {
      const { verdicts, tokens } = itemAt(live, i)
      verdicts.push(readVerdict(judge, generation))
      tokens.push(...generation.tokens)
    }
  }
  return episodes.map((episode, e) =>
    episode.actions.map((_, step) =>
      itemAt(chains, e).flatMap(({ verdicts }) => verdicts.slice(step, step + 1)),
    ),
  )
}
