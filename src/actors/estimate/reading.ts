/** Reading episodes with a judge of the form `estimate`. */
import type { LocalModelFace } from '../../models/local/model.ts'
import { type ChainSettings, type ReadEpisode, readInChains } from '../rollout/chains.ts'
import { BINS, type EstimateCodec, readEstimate, type StepEstimate } from './form.ts'

/** [steps][m]. A step beyond the context has none. An unreadable estimate is null. */
export type Estimates = readonly (readonly (StepEstimate | null)[])[]

/** Estimates every step of every episode m times. */
export function readEpisodes(
  model: Pick<LocalModelFace, 'sample'>,
  codec: EstimateCodec,
  episodes: readonly ReadEpisode[],
  settings: ChainSettings,
): Promise<Estimates[]> {
  const { opening, step, choices } = codec
  const read = { opening, step, choices, topLogprobs: BINS }
  return readInChains(
    model,
    { ...read, read: (generation) => readEstimate(codec, generation) },
    episodes,
    settings,
  )
}
