/**
 * The reward model's first version: the policy's weights, taught on rollouts whose steps are labelled by true progress, a
 * stated share of them turned round. So it starts better than chance and leaves room for co-training.
 */
import { judgeWarning } from '../../learning/health.ts'
import { type JudgeQuality, judgeQuality } from '../../learning/judge-quality.ts'
import { noisyLabels, progressLabel } from '../../learning/progress-labels.ts'
import type { LocalModelFace } from '../../models/local/model.ts'
import type { TrainingSample } from '../../models/port.ts'
import type { Seed } from '../../random.ts'
import { supervise } from '../learner/supervise.ts'
import { type JudgedEpisode, judgeEpisodes } from './judge.ts'
import { chainSample, type JudgeCodec } from './judging.ts'

export type LabelledEpisode = JudgedEpisode & {
  /** [actions] true progress of each step. */
  readonly progress: ArrayLike<number>
}

/** Options of teaching a judge, from the config and a seed. */
export type TaughtOptions = {
  readonly flippedLabels: number
  readonly updates: number
  readonly batch: number
  readonly learningRate: number
  readonly seed: Seed
}

export type RewardModelColdStart = TaughtOptions & {
  readonly tokenBudget: number
  readonly contextTokens: number
  readonly report?: (message: string) => void
}

export type RewardModelStart = {
  readonly samples: number
  readonly loss: number
  /** Measured on episodes that were not learned from. */
  readonly quality: JudgeQuality
  /** Text to print if the judge is too poor to help, else null. */
  readonly warning: string | null
}

/** Share of the episodes that are held out to measure process accuracy. */
const HELD_OUT = 0.2

/**
 * Teaches a model that has the policy's weights. The first fifth of the episodes is held out.
 * @param episodes of many tasks, in random order
 */
export async function coldStartRewardModel(
  model: LocalModelFace,
  judge: JudgeCodec,
  episodes: readonly LabelledEpisode[],
  options: RewardModelColdStart,
): Promise<RewardModelStart> {
  const heldOut = Math.ceil(episodes.length * HELD_OUT)
  const samples = labelledSamples(judge, episodes.slice(heldOut), options)
  const { updates, report = () => {} } = options
  const loss = await supervise(
    model,
    async () => samples,
    options,
    (done, metrics) => report(`cold start: update ${done} of ${updates}, loss ${metrics.loss.toFixed(3)}`),
  )
  const quality = await processQuality(model, judge, episodes.slice(0, heldOut), options)
  return { samples: samples.length, loss, quality, warning: judgeWarning(quality.single.balanced) }
}

/** Returns supervised chains. Good and bad labels have the same total weight. */
export function labelledSamples(
  judge: JudgeCodec,
  episodes: readonly LabelledEpisode[],
  {
    flippedLabels,
    contextTokens,
    seed,
  }: Pick<RewardModelColdStart, 'flippedLabels' | 'contextTokens' | 'seed'>,
): TrainingSample[] {
  const labels = episodes.map(({ id, progress }) =>
    noisyLabels(progress, { id, seed, flipShare: flippedLabels }),
  )
  const all = labels.flat()
  const good = all.filter((label) => label === 1).length
  const weight = { 1: all.length / (2 * good || 1), [-1]: all.length / (2 * (all.length - good) || 1) }
  return episodes.flatMap((episode, e) => {
    const steps = episode.actions.map((action, step) => {
      const label = labels[e][step]
      const cause = judge.vocabulary.wordFor({
        action,
        earlier: episode.actions.slice(0, step),
        progress: episode.progress[step],
        label,
      })
      return {
        tokens: judge.choices[judge.words.indexOf(cause)],
        logprobs: [0, 0],
        advantage: weight[label],
      }
    })
    const sample = chainSample(episode.id, judge, episode, steps)
    return sample && sample.tokens.length <= contextTokens ? [sample] : []
  })
}

/** Measures how well single sampled verdicts agree with true progress. */
export async function processQuality(
  model: LocalModelFace,
  judge: JudgeCodec,
  episodes: readonly LabelledEpisode[],
  { contextTokens }: Pick<RewardModelColdStart, 'contextTokens'>,
): Promise<JudgeQuality> {
  const judgements = await judgeEpisodes(model, judge, episodes, {
    samples: 3,
    temperature: 1,
    topP: 1,
    contextTokens,
  })
  return judgeQuality(
    episodes.flatMap(({ progress }, e) =>
      judgements[e].map((verdicts, step) => ({
        scores: verdicts.map((verdict) => verdict?.score ?? 0),
        label: progressLabel(progress[step]),
      })),
    ),
  )
}
