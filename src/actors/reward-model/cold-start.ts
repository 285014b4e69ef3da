/**
 * The reward model's first version: the policy's weights, taught on rollouts whose steps are labelled by true progress, a
 * stated share of them turned round. So it starts better than chance and leaves room for co-training.
 */

import { type Causes, type Label, verdictBehind } from '../../environments/causes.ts'
import { itemAt } from '../../item-at.ts'
import { judgeWarning } from '../../learning/health.ts'
import { type JudgeQuality, judgeQuality } from '../../learning/judge-quality.ts'
import { noisyLabels, progressLabel } from '../../learning/progress-labels.ts'
import type { LocalModelFace } from '../../models/local/model.ts'
import type { TrainingSample } from '../../models/port.ts'
import { rng, type Seed, seedOf } from '../../random.ts'
import { supervise } from '../learner/supervise.ts'
import type { ReadEpisode } from '../rollout/chains.ts'
import { judgeEpisodes } from './judge.ts'
import { chainSample, type JudgeCodec, type JudgedStep } from './judging.ts'

export type MeasuredEpisode = ReadEpisode & {
  /** [actions] true progress of each step. */
  readonly progress: ArrayLike<number>
}

export type LabelledEpisode = MeasuredEpisode & {
  /** [actions] labels by progress, some of them turned round. */
  readonly labels: readonly Label[]
  /** [actions] words that say why, one of the causes. */
  readonly words: readonly string[]
  /** Whether each label is the outcome of the rollout, since the setting tells no progress. */
  readonly byOutcome: boolean
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

/** Most steps of a rollout with one label that are taught, each in a sample of its own. */
const TAUGHT_STEPS = 4

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

/**
 * Labels an episode by its true progress, and finds a word for each step.
 * @throws UserCodeError if the setting finds no word
 */
export function labelled(
  causes: Causes,
  task: string,
  episode: MeasuredEpisode & Pick<LabelledEpisode, 'byOutcome'>,
  { flippedLabels, seed }: Pick<TaughtOptions, 'flippedLabels' | 'seed'>,
): LabelledEpisode {
  const { id, actions, progress } = episode
  const labels = noisyLabels(progress, { id, seed, flipShare: flippedLabels })
  const words = actions.map((action, step) =>
    causes.wordFor({
      task,
      action,
      earlier: actions.slice(0, step),
      progress: itemAt(progress, step),
      label: itemAt(labels, step),
    }),
  )
  return { ...episode, labels, words }
}

/**
 * Returns supervised chains. Good and bad labels that are trained have the same total weight. If all labels of a rollout are its
 * outcome, a chain of them would teach the judge to copy its first verdict. So each of some drawn steps has a chain of its own,
 * behind verdicts that a coin gives.
 */
export function labelledSamples(
  judge: JudgeCodec,
  episodes: readonly LabelledEpisode[],
  { contextTokens, seed }: Pick<RewardModelColdStart, 'contextTokens' | 'seed'>,
): TrainingSample[] {
  const taught = episodes.flatMap((episode) => {
    const steps = episode.words.map((word, step) => ({
      tokens: itemAt(judge.choices, judge.words.indexOf(word)),
      logprobs: [0, 0],
      advantage: itemAt(episode.labels, step),
    }))
    const chains = episode.byOutcome ? singleSteps(judge, steps, seedOf(seed, 'steps', episode.id)) : [steps]
    return chains.map((chain) => ({ episode, chain }))
  })
  const all = taught.flatMap(({ chain }) => chain.flatMap(({ advantage }) => advantage || []))
  const good = all.filter((label) => label === 1).length
  const weight = (label: number) =>
    label === 0 ? 0 : all.length / (2 * (label === 1 ? good : all.length - good))
  return taught.flatMap(({ episode, chain }) => {
    const steps = chain.map((step) => ({ ...step, advantage: weight(step.advantage) }))
    const sample = chainSample(episode.id, judge, episode, steps)
    return sample && sample.tokens.length <= contextTokens ? [sample] : []
  })
}

/** Returns chains of which only the last step is trained. The verdicts before it are drawn. */
function singleSteps(judge: JudgeCodec, steps: readonly JudgedStep[], seed: Seed): readonly JudgedStep[][] {
  const { shuffle, pick } = rng(seed)
  const { vocabulary, words, choices } = judge
  const sides = [1, -1]
    .map((verdict) => choices.filter((_, i) => verdictBehind(vocabulary, itemAt(words, i)) === verdict))
    .filter(({ length }) => length > 0)
  const drawn = () => ({ tokens: pick(pick(sides)), logprobs: [0, 0], advantage: 0 })
  return shuffle(steps.map((_, last) => last))
    .slice(0, TAUGHT_STEPS)
    .map((last) => [...steps.slice(0, last).map(drawn), itemAt(steps, last)])
}

/** Measures how well single sampled verdicts agree with true progress. */
export async function processQuality(
  model: LocalModelFace,
  judge: JudgeCodec,
  episodes: readonly MeasuredEpisode[],
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
      itemAt(judgements, e).map((verdicts, step) => ({
        scores: verdicts.map((verdict) => verdict?.score ?? 0),
        label: progressLabel(itemAt(progress, step)),
      })),
    ),
  )
}
