import { RlError } from '../../errors.ts'
import { itemAt } from '../../item-at.ts'
import type { TrainableModel, TrainingSample, UpdateMetrics } from '../../models/port.ts'
import { rng, type Seed, seedOf } from '../../random.ts'

export type SupervisedOptions = {
  /** Optimiser steps. */
  readonly updates: number
  /** Samples in one optimiser step. */
  readonly batch: number
  /** Highest rate: reached over the first twentieth of the updates, then falling linearly to 0. */
  readonly learningRate: number
  readonly tokenBudget: number
  readonly seed: Seed
}

/** The samples to draw from when a share of the way is done, so that they can be made while the model learns. */
export type SampleSource = (share: number) => Promise<readonly TrainingSample[]>

/** Updates made under one learning rate. */
const STRIDE = 10
/** Share of the updates over which the samples arrive. Afterwards updates draw from all samples. */
const ARRIVAL = 0.7

/**
 * Trains on samples drawn in shuffled passes. An update's samples depend on its number, not on how fast samples are
 * made. Resolves to the mean loss of the last tenth of the updates (0 for no updates).
 *
 * @throws RlError `model.not-finite` if the model diverges. Without the error it would silently be kept and started
 * from.
 */
export async function supervise(
  model: TrainableModel,
  source: SampleSource,
  { updates, batch, learningRate, tokenBudget, seed }: SupervisedOptions,
  progress: (done: number, metrics: UpdateMetrics) => void = () => {},
): Promise<number> {
  const losses: number[] = []
  const draw = shuffledPasses(seed)
  const samplesAt = (done: number) => source(Math.min(1, (done + STRIDE) / (ARRIVAL * updates)))
  let samples = updates > 0 ? await samplesAt(0) : []
  for (let done = 0; done < updates; done += STRIDE) {
    const now = Math.min(STRIDE, updates - done)
    const part = draw(samples, now * batch)
    const learning = learn(model, part, { done, now, of: updates }, { learningRate, tokenBudget, seed })
    const [metrics, next] = await Promise.all([learning, samplesAt(done + STRIDE)])
    samples = next
    losses.push(metrics.loss)
    progress(done + now, metrics)
  }
  const last = losses.slice(-Math.max(1, Math.ceil(losses.length / 10)))
  return last.length === 0 ? 0 : last.reduce((sum, loss) => sum + loss, 0) / last.length
}

/** Some updates of a start, of so many in all. */
type Stretch = { readonly done: number; readonly now: number; readonly of: number }

/**
 * Makes the next updates of a start on these samples.
 * @throws RlError `model.not-finite`
 */
export async function learn(
  model: TrainableModel,
  samples: readonly TrainingSample[],
  { done, now, of }: Stretch,
  { learningRate, tokenBudget, seed }: Pick<SupervisedOptions, 'learningRate' | 'tokenBudget' | 'seed'>,
): Promise<UpdateMetrics> {
  const metrics = await model.update(samples, {
    loss: { kind: 'supervised' },
    learningRate: learningRate * rateAt(Math.min(1, (done + now / 2) / of)),
    weightDecay: 0,
    beta1: 0.9,
    beta2: 0.99,
    clipNorm: 1,
    updates: now,
    tokenBudget,
    seed: seedOf(seed, 'update', done),
    klLimit: null,
  })
  if (metrics.stopped) throw diverged(done + metrics.updates + 1, metrics.stopped)
  return metrics
}

function diverged(update: number, { value, sample }: NonNullable<UpdateMetrics['stopped']>): RlError {
  return new RlError(
    `update ${update} of the cold start: the loss is ${value}${sample === undefined ? '' : ` on ${sample}`}`,
    { code: 'model.not-finite', hint: 'lower coldStart.learningRate of this model' },
  )
}

/** Share of the highest rate at a share of the way. */
export function rateAt(way: number): number {
  const warmUp = 0.05
  return way < warmUp ? way / warmUp : (1 - way) / (1 - warmUp)
}

/** Draws in shuffled passes: each sample once before any comes again. New samples join the next pass. */
export function shuffledPasses(seed: Seed) {
  let order: number[] = []
  let pass = 0
  let known = 0
  return <T>(samples: readonly T[], count: number): T[] =>
    Array.from({ length: count }, () => {
      if (order.length === 0 || known < samples.length) {
        const fresh = Array.from({ length: samples.length - known }, (_, i) => known + i)
        const all = order.length === 0 && fresh.length === 0 ? samples.map((_, i) => i) : [...order, ...fresh]
        order = rng(seedOf(seed, 'pass', pass++)).shuffle(all)
        known = samples.length
      }
      return itemAt(samples, order.pop()!)
    })
}
