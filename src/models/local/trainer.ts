import { itemAt } from '../../item-at.ts'
import { rng } from '../../random.ts'
import * as tf from '../../tensorflow/tensorflow.ts'
import type { TrainingSample, UpdateMetrics, UpdateOptions } from '../port.ts'
import { checkOptions, checkSample } from './check-update.ts'
import type { ScoredSample, UpdateSample } from './gradients.ts'
import { createLeash } from './leash.ts'
import { countTrained, drift } from './loss.ts'
import { LEAST_PASS, type Passes } from './memory.ts'
import { createOptimizer, type Optimizer } from './optimizer.ts'
import { type LocalModel, trainedNames } from './params.ts'
import { NOTHING, type PartPass, passOver, type Setup, SUMS, type Sums } from './part-pass.ts'
import { rowValues } from './row-values.ts'
import { sampleWeights } from './sample-weights.ts'
import { takeScalar } from './take-scalar.ts'

export type Trainer = {
  readonly optimizer: Optimizer
  /**
   * Trains on whole trajectories. Samples are shuffled by the seed and cut into `updates` parts. Each part is one optimiser step, whose
   * gradient is summed over micro-batches of at most `tokenBudget` tokens, or fewer if memory is short.
   * @throws RlError `model.sample` for a sample that does not fit the model, the budget or its own mask
   */
  update(samples: readonly TrainingSample[], options: UpdateOptions, passes?: Passes): Promise<UpdateMetrics>
  /** Returns log-probs of the masked tokens under the present weights: arrays of length T, 0 if the mask is 0. */
  score(
    samples: readonly ScoredSample[],
    options?: { readonly tokenBudget?: number; readonly temperature?: number },
  ): Promise<Float32Array[]>
  dispose(): void
}

const ADAM_EPSILON = 1e-8
const SCORE_TOKENS = 8192
const ENDLESS: Passes = { keptTokens: Number.POSITIVE_INFINITY, mostTokens: Number.POSITIVE_INFINITY }

/** If the model has an adapter, only its weights are trained, else all weights. */
export function createTrainer(model: LocalModel): Trainer {
  const optimizer = createOptimizer(model.params)

  const step = (
    { gradients, norm }: PartPass,
    { learningRate, clipNorm, beta1 = 0.9, beta2 = 0.999, weightDecay = 0 }: UpdateOptions,
    halvings: number,
  ) => {
    const scale = clipNorm !== null && norm > clipNorm ? clipNorm / norm : 1
    const rate = learningRate * 0.5 ** halvings
    optimizer.step(gradients, scale, {
      learningRate: rate,
      beta1,
      beta2,
      weightDecay,
      epsilon: ADAM_EPSILON,
    })
  }

  return {
    optimizer,
    async update(samples, options, { keptTokens, mostTokens } = ENDLESS) {
      checkOptions(model, options)
      for (const sample of samples) checkSample(model, sample, options.tokenBudget)
      const frozenLayers = options.layers === undefined ? 0 : model.config.layers - options.layers
      const names = trainedNames(model.params, frozenLayers)
      // Small enough that nothing is computed again, but large enough to be worth a pass.
      const most = Math.min(options.tokenBudget, mostTokens)
      const budget = keptTokens < LEAST_PASS ? most : Math.min(most, keptTokens)
      const setup: Setup = { options, names, frozenLayers, budget, keptTokens }
      if (options.resetOptimizer) optimizer.reset()
      const trained = samples.filter((sample) => countTrained(sample) > 0)
      const started = await withStarted(model, trained, options, budget)
      const parts = split(rng(options.seed).shuffle(started), options.updates)
      const leash = createLeash(model.params, names, options)
      const totals = createTotals()
      let stopped: UpdateMetrics['stopped'] = null
      for (const [index, part] of parts.entries()) {
        let pass = await passOver(model, part, setup)
        while (!pass.bad && leash.tooFar(pass.drift) && (await leash.halve())) {
          tf.dispose([...pass.gradients.values()])
          pass = await passOver(model, part, setup)
        }
        stopped = pass.bad ?? (leash.tooFar(pass.drift) ? { reason: 'kl', value: pass.drift } : null)
        if (stopped?.reason === 'kl' && index > 0 && (await leash.takeBack()))
          totals.takeBack(itemAt(parts, index - 1).length)
        if (!stopped) {
          await leash.keep()
          step(pass, options, leash.halvings)
          totals.stepped(part.length)
        }
        tf.dispose([...pass.gradients.values()])
        if (!pass.bad) totals.seen(pass)
        if (stopped) break
      }
      // After the last step no further part shows how far the step went. So its own part is scored again.
      const last = parts.at(-1)
      if (last && !stopped && options.klHalvings) {
        const driftOf = async () => {
          const scored = await rowValues(model, last, 'logprob', { budget, temperature: options.temperature })
          return meanDrift(last, scored)
        }
        let value = await driftOf()
        while (leash.tooFar(value) && (await leash.halve())) value = await driftOf()
        if (leash.tooFar(value)) {
          stopped = { reason: 'kl', value }
          if (await leash.takeBack()) totals.takeBack(last.length)
        }
      }
      return {
        ...totals.metrics(),
        ...(options.klHalvings ? { klHalvings: leash.halvings } : {}),
        ...weightsOf(started, options),
        stopped,
      }
    },
    score(samples, { tokenBudget = SCORE_TOKENS, temperature } = {}) {
      return rowValues(model, samples, 'logprob', { budget: tokenBudget, temperature })
    },
    dispose: () => optimizer.dispose(),
  }
}

/** Returns the samples with their log-probs under the present weights, if the loss corrects a mismatch. */
async function withStarted(
  model: LocalModel,
  samples: readonly TrainingSample[],
  { loss, temperature }: UpdateOptions,
  budget: number,
): Promise<readonly UpdateSample[]> {
  if (loss.kind !== 'policy' || loss.mismatch === undefined) return samples
  const scored = await rowValues(model, samples, 'logprob', { budget, temperature })
  return samples.map((sample, i) => ({ ...sample, startedLogprobs: itemAt(scored, i) }))
}

function weightsOf(
  samples: readonly UpdateSample[],
  { loss }: UpdateOptions,
): Pick<UpdateMetrics, 'weights'> {
  if (loss.kind !== 'policy' || loss.mismatch === undefined) return {}
  return { weights: sampleWeights(samples, loss.mismatch) }
}

/** Counts the results of an update. */
function createTotals() {
  const done = { updates: 0, samples: 0 }
  const sum: Sums = { ...NOTHING }
  let [tokens, norm, passes] = [0, 0, 0]
  const share = (value: number, of: number) => (of === 0 ? 0 : value / of)
  return {
    stepped(samples: number) {
      done.updates++
      done.samples += samples
    },
    takeBack(samples: number) {
      done.updates--
      done.samples -= samples
    },
    seen(pass: PartPass) {
      passes++
      tokens += pass.tokens
      norm += pass.norm
      for (const key of SUMS) sum[key] += pass.sum[key]
    },
    metrics: () => ({
      ...done,
      tokens,
      loss: share(sum.loss, passes),
      kl: share(sum.kl, tokens),
      entropy: share(sum.entropy, tokens),
      clipShare: share(sum.clipped, tokens),
      gradientNorm: share(norm, passes),
    }),
  }
}

/** Returns the mean drift over the trained tokens. `scored` has their present log-probs. */
async function meanDrift(
  samples: readonly TrainingSample[],
  scored: readonly Float32Array[],
): Promise<number> {
  const column = (valuesOf: (sample: TrainingSample, i: number) => Float32Array) =>
    tf.tensor1d(
      samples.flatMap((sample, i) => [...valuesOf(sample, i).filter((_, t) => sample.mask[t])]),
      'float32',
    )
  const mean = tf.tidy(() =>
    drift({
      logprobs: column((_, i) => itemAt(scored, i)),
      behaviour: column(({ logprobs }) => logprobs),
    }).mean(),
  )
  return await takeScalar(mean)
}

/** Returns at most `count` parts. Their sizes differ by at most one, and none is empty. */
function split<T>(items: readonly T[], count: number): T[][] {
  const parts = Math.min(count, items.length)
  return Array.from({ length: parts }, (_, i) =>
    items.slice(Math.floor((i * items.length) / parts), Math.floor(((i + 1) * items.length) / parts)),
  )
}
