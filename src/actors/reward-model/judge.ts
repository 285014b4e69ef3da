/** Judging episodes with a local model. */
import type { LocalModelFace } from '../../models/local/model.ts'
import { type ChainSettings, type ReadEpisode, readInChains } from '../rollout/chains.ts'
import { type JudgeCodec, type Judgement, readVerdict } from './judging.ts'

/** [steps][m]: judgements. A step beyond the context has none, and an unreadable judgement is null. */
export type Judgements = readonly (readonly (Judgement | null)[])[]

/** Judges every step of every episode m times. `logprobs` is the temperature of log-probs and of the probabilities of verdicts. */
export function judgeEpisodes(
  model: LocalModelFace,
  judge: JudgeCodec,
  episodes: readonly ReadEpisode[],
  settings: ChainSettings,
  signal?: AbortSignal,
): Promise<Judgements[]> {
  const { opening, step, choices, causes } = judge
  const read = { opening, step, choices, topLogprobs: causes.length }
  return readInChains(
    model,
    { ...read, read: (generation) => readVerdict(judge, generation) },
    episodes,
    settings,
    signal,
  )
}
