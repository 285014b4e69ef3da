/**
 * Teaching a judge of the form `estimate`, in two parts. First it sees true bins. Then it reads rollouts itself before it learns
 * from them, and meets its own errors: a judge that never did so takes one wrong bin for the truth, and goes on from there.
 */
import { type EstimateRollouts, heldOutOf } from '../../config/labelled-rollouts.ts'
import type { Task } from '../../environments/port.ts'
import type { OpenSetting } from '../../environments/setting.ts'
import { itemAt } from '../../item-at.ts'
import { correlation } from '../../learning/interval.ts'
import type { LocalModelFace } from '../../models/local/model.ts'
import type { TrainingSample } from '../../models/port.ts'
import { rng, type Seed, seedOf } from '../../random.ts'
import { learn } from '../learner/supervise.ts'
import type { EstimateCodec } from './form.ts'
import { type EstimatedEpisode, fallAt, lessonOf } from './lessons.ts'
import { type Estimates, readEpisodes } from './reading.ts'
import { taughtEpisode } from './teachers.ts'

/** Each rollout of both parts is learned from twice. */
export type EstimateTeaching = EstimateRollouts & {
  readonly batch: number
  readonly learningRate: number
  readonly tokenBudget: number
  readonly maxSteps: number
  readonly seed: Seed
  /** How the judge reads what it is taught on: as it judges later. */
  readonly temperature: number
  readonly topP: number
}

export type Teacher = {
  readonly model: LocalModelFace
  readonly codec: EstimateCodec
  readonly opened: OpenSetting
  /** As many as rollouts of both parts, and those that are held out. */
  readonly tasks: readonly Task[]
  readonly report: (message: string) => void
}

/** Updates of the optimiser between two looks at the rate. */
const STRIDE = 10

/** Rollouts that the judge reads at a time. Each such part is read with the weights of its time, and learned from twice. */
const PART = 500

/** Returns the figures of the judge on rollouts that were not learned from. */
export async function teachEstimates(
  teacher: Teacher,
  options: EstimateTeaching,
): Promise<Readonly<Record<string, number>>> {
  const { model, codec, report } = teacher
  const { rollouts, ownRollouts, batch, temperature, topP } = options
  const reading = { samples: 1, temperature, topP, contextTokens: model.describe().contextTokens }
  const learner = openLearner(model, Math.ceil((2 * (rollouts + ownRollouts)) / batch), options, report)
  const first = heldOutOf(options)
  const heldOut = await playEpisodes(teacher, 0, first, options)
  const shown = await learnTrueBins(teacher, learner, first, options)
  for (let read = 0; read < ownRollouts; read += PART) {
    const count = Math.min(PART, ownRollouts - read)
    const episodes = await playEpisodes(teacher, first + rollouts + read, count, options)
    const estimates = await readEpisodes(model, codec, episodes, reading)
    report(`cold start: ${read + count} of ${ownRollouts} rollouts read by the judge itself`)
    const own = episodes.flatMap((episode, i) => {
      const bins = itemAt(estimates, i).map(([estimate]) => estimate?.bin)
      return lessonOf(codec, episode, reading.contextTokens, bins) ?? []
    })
    await learner.learn([...own, ...shuffled(own, options.seed, read)])
  }
  const read = await readEpisodes(model, codec, heldOut, reading)
  return { loss: learner.loss(), samples: shown + ownRollouts, ...figuresOf(heldOut, read) }
}

/** Returns the figures of a judge that was taught elsewhere, on rollouts of this setting. */
export async function measureEstimates(
  teacher: Teacher,
  options: EstimateTeaching,
): Promise<Readonly<Record<string, number>>> {
  const { model, codec } = teacher
  const { temperature, topP } = options
  const heldOut = await playEpisodes(teacher, 0, heldOutOf(options), options)
  const reading = { samples: 1, temperature, topP, contextTokens: model.describe().contextTokens }
  return { samples: 0, ...figuresOf(heldOut, await readEpisodes(model, codec, heldOut, reading)) }
}

/** The first part: each rollout is learned from while the next are played, and once more at the end. Resolves to their number. */
async function learnTrueBins(
  teacher: Teacher,
  learner: ReturnType<typeof openLearner>,
  first: number,
  options: EstimateTeaching,
): Promise<number> {
  const { model, codec } = teacher
  const { contextTokens } = model.describe()
  const { rollouts, batch, seed } = options
  const shown: TrainingSample[] = []
  let ready: readonly TrainingSample[] = []
  for (let from = 0; from < rollouts; from += STRIDE * batch) {
    const count = Math.min(STRIDE * batch, rollouts - from)
    const [episodes] = await Promise.all([
      playEpisodes(teacher, first + from, count, options),
      learner.learn(ready),
    ])
    ready = episodes.flatMap((episode) => lessonOf(codec, episode, contextTokens) ?? [])
    shown.push(...ready)
  }
  await learner.learn([...ready, ...shuffled(shown, seed, 'all')])
  return shown.length
}

function shuffled<T>(samples: readonly T[], seed: Seed, part: string | number): readonly T[] {
  return rng(seedOf(seed, 'again', part)).shuffle(samples)
}

/** How well an estimate's falls agree with those of the setting. */
function figuresOf(
  episodes: readonly EstimatedEpisode[],
  read: readonly Estimates[],
): { readonly fallCorrelation: number; readonly binError: number } {
  const pairs: [number, number][] = []
  const errors: number[] = []
  for (const [e, episode] of episodes.entries())
    for (const [step, estimates] of itemAt(read, e).entries())
      for (const estimate of estimates)
        if (estimate) {
          pairs.push([estimate.fall, fallAt(episode, step)])
          errors.push(Math.abs(estimate.bin - itemAt(episode.remaining, step + 1)))
        }
  const binError = errors.reduce((sum, error) => sum + error, 0) / Math.max(1, errors.length)
  return { fallCorrelation: correlation(pairs)?.value ?? 0, binError }
}

async function playEpisodes(
  { opened, tasks }: Teacher,
  from: number,
  count: number,
  options: EstimateTeaching,
): Promise<EstimatedEpisode[]> {
  const episodes: EstimatedEpisode[] = []
  for (let index = from; index < from + count; index++) {
    // Playing and labelling are computation: others of this process must get their turn.
    await new Promise(setImmediate)
    const episode = await taughtEpisode(opened, itemAt(tasks, index % tasks.length), index, options)
    if (episode) episodes.push(episode)
  }
  return episodes
}

function openLearner(
  model: LocalModelFace,
  updates: number,
  options: EstimateTeaching,
  report: (message: string) => void,
) {
  const { batch } = options
  let done = 0
  let loss = 0
  return {
    loss: () => loss,
    /** Learns from samples in their order. */
    async learn(samples: readonly TrainingSample[]): Promise<void> {
      for (let from = 0; from < samples.length; from += STRIDE * batch) {
        const part = samples.slice(from, from + STRIDE * batch)
        const now = Math.ceil(part.length / batch)
        const metrics = await learn(model, part, { done, now, of: updates }, options)
        done += now
        loss = metrics.loss
        report(`cold start: update ${done} of ${Math.max(done, updates)}, loss ${loss.toFixed(3)}`)
      }
    },
  }
}
