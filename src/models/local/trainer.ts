import { RlError } from '../../errors.ts'
import { rng } from '../../random.ts'
import * as tf from '../../tensorflow/tensorflow.ts'
import type { LossOptions, TrainingSample, UpdateMetrics, UpdateOptions } from '../port.ts'
import {
  countTrained,
  gatherRows,
  lossGradients,
  type RowOptions,
  rowLogprobs,
  type ScoredSample,
  type WeightedSample,
} from './gradients.ts'
import { createLeash } from './leash.ts'
import { drift, tokenWeights } from './loss.ts'
import { LEAST_PASS, type Passes } from './memory.ts'
import { createOptimizer, type Optimizer, squaredNorm } from './optimizer.ts'
import { type LocalModel, trainedNames } from './params.ts'

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

/** Sums of a pass over its trained tokens. */
const SUMS = ['loss', 'kl', 'drift', 'clipped', 'entropy'] as const
type Sums = Record<(typeof SUMS)[number], number>
const NOTHING: Sums = { loss: 0, kl: 0, drift: 0, clipped: 0, entropy: 0 }

/** How the parts of one update are computed. */
type Setup = {
  readonly options: UpdateOptions
  /** Names of the weights that move. */
  readonly names: readonly string[]
  readonly frozenLayers: number
  /** Most tokens of a micro-batch. */
  readonly budget: number
  /** Longer micro-batches compute layers again. */
  readonly keptTokens: number
}

/** One part's pass, computed before its optimiser step. */
type PartPass = {
  readonly sum: Sums
  readonly gradients: ReadonlyMap<string, tf.Tensor>
  readonly tokens: number
  readonly norm: number
  /** The value that was not finite, or null. */
  readonly bad: UpdateMetrics['stopped']
  /** Mean over the trained tokens. */
  readonly drift: number
}

/** If the model has an adapter, only its weights are trained, else all weights. */
export function createTrainer(model: LocalModel): Trainer {
  const optimizer = createOptimizer(model.params)

  /** Returns the id of the first sample whose own gradient is not finite. */
  const culprit = async (
    names: readonly string[],
    batch: readonly WeightedSample[],
    loss: LossOptions,
    forward: RowOptions,
  ) => {
    for (const item of batch) {
      const alone = await lossGradients(model, names, [item], loss, forward)
      tf.dispose([...alone.gradients.values()])
      if (!Number.isFinite(alone.loss) || !Number.isFinite(alone.norm)) return item.sample.id
    }
    return undefined
  }

  /** Returns values of the masked tokens under the present weights: arrays of length T, 0 if the mask is 0. */
  const rowValues = async (
    samples: readonly ScoredSample[],
    what: 'logprob' | 'entropy',
    { budget, temperature }: { readonly budget: number; readonly temperature: number | undefined },
  ) => {
    const results = samples.map((sample) => new Float32Array(sample.tokens.length))
    const wanted = samples
      .map((sample, index) => ({ sample, index }))
      .filter(({ sample }) => countTrained(sample) > 0)
    for (const { sample } of wanted) checkSample(model, sample, Number.POSITIVE_INFINITY)
    for (const batch of microBatches(wanted, budget)) {
      const rows = gatherRows(batch.map((item) => item.sample))
      const out = tf.tidy(() => rowLogprobs(model, batch, rows, { temperature }))
      const values = await out.data()
      out.dispose()
      const first = what === 'logprob' ? 0 : rows.count
      rows.each((s, t, row) => {
        results[batch[s].index][t] = values[first + row]
      })
    }
    return results
  }

  /** Returns sums and gradient of one part over its micro-batches. The caller disposes the gradients. */
  const passOver = async (
    part: readonly TrainingSample[],
    { options, names, frozenLayers, budget, keptTokens }: Setup,
  ): Promise<PartPass> => {
    const { loss, temperature } = options
    const counts = part.map(countTrained)
    const weights = tokenWeights(counts, loss.kind === 'policy' ? loss.aggregate : 'batch')
    const chosen = await chosenTokens(part, loss, (samples) =>
      rowValues(samples, 'entropy', { budget, temperature }),
    )
    const tokens = counts.reduce((a, b) => a + b, 0)
    const entropyMean = 1 / (chosen?.count ?? tokens)
    const weighted = part.map((sample, i) => ({
      sample,
      weight: weights[i],
      entropyMean,
      chosen: chosen?.marks[i],
    }))
    const sum = { ...NOTHING }
    let gradients = new Map<string, tf.Tensor>()
    let bad: UpdateMetrics['stopped'] = null
    for (const batch of microBatches(weighted, budget)) {
      const forward = { recompute: tokensOf(batch) > keptTokens, frozenLayers, temperature }
      const result = await lossGradients(model, names, batch, loss, forward)
      gradients = gradients.size > 0 ? addInto(gradients, result.gradients) : result.gradients
      const value = [result.loss, result.norm].find((value) => !Number.isFinite(value))
      if (value !== undefined) {
        bad = { reason: 'not-finite', sample: await culprit(names, batch, loss, forward), value }
        break
      }
      for (const key of SUMS) sum[key] += result[key]
    }
    const norm = bad ? 0 : Math.sqrt(await squaredNorm(gradients.values()))
    if (!bad && !Number.isFinite(norm)) bad = { reason: 'not-finite', value: norm }
    return { sum, gradients, tokens, norm, bad, drift: sum.drift / tokens }
  }

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
      const parts = split(rng(options.seed).shuffle(trained), options.updates)
      const leash = createLeash(model.params, names, options)
      const totals = createTotals()
      let stopped: UpdateMetrics['stopped'] = null
      for (const [index, part] of parts.entries()) {
        let pass = await passOver(part, setup)
        while (!pass.bad && leash.tooFar(pass.drift) && (await leash.halve())) {
          tf.dispose([...pass.gradients.values()])
          pass = await passOver(part, setup)
        }
        stopped = pass.bad ?? (leash.tooFar(pass.drift) ? { reason: 'kl', value: pass.drift } : null)
        if (stopped?.reason === 'kl' && index > 0 && (await leash.takeBack()))
          totals.takeBack(parts[index - 1].length)
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
          const scored = await rowValues(last, 'logprob', { budget, temperature: options.temperature })
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
        stopped,
      }
    },
    score(samples, { tokenBudget = SCORE_TOKENS, temperature } = {}) {
      return rowValues(samples, 'logprob', { budget: tokenBudget, temperature })
    },
    dispose: () => optimizer.dispose(),
  }
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
    drift({ logprobs: column((_, i) => scored[i]), behaviour: column(({ logprobs }) => logprobs) }).mean(),
  )
  const [value] = await mean.data()
  mean.dispose()
  return value
}

/**
 * Picks the tokens to train on if only a share is trained: those with the highest entropy. The bound is the interpolated quantile of
 * all entropies (as torch.quantile).
 */
async function chosenTokens(
  samples: readonly TrainingSample[],
  loss: LossOptions,
  entropiesOf: (samples: readonly TrainingSample[]) => Promise<Float32Array[]>,
): Promise<{ readonly marks: readonly Uint8Array[]; readonly count: number } | undefined> {
  const share = loss.kind === 'policy' ? (loss.entropyShare ?? 1) : 1
  if (share >= 1) return undefined
  const entropies = await entropiesOf(samples)
  const all = Float64Array.from(samples.flatMap(({ mask }, i) => [...entropies[i].filter((_, t) => mask[t])]))
  const bound = quantile(all.sort(), 1 - share)
  const marks = samples.map(({ mask }, i) => mask.map((bit, t) => (bit && entropies[i][t] >= bound ? 1 : 0)))
  return { marks, count: marks.reduce((sum, mark) => sum + countTrained({ mask: mark }), 0) }
}

/** Returns a quantile of sorted values, interpolated linearly. */
function quantile(sorted: Float64Array, share: number): number {
  const place = share * (sorted.length - 1)
  const [low, high] = [sorted[Math.floor(place)], sorted[Math.ceil(place)]]
  return low + (place - Math.floor(place)) * (high - low)
}

/** Returns batches of at most `budget` tokens. Samples are sorted by length, then filled in order. A longer sample is alone. */
export function microBatches<T extends { readonly sample: Pick<TrainingSample, 'tokens'> }>(
  items: readonly T[],
  budget: number,
): T[][] {
  const batches: T[][] = []
  let room = 0
  for (const item of [...items].sort((a, b) => b.sample.tokens.length - a.sample.tokens.length)) {
    const length = item.sample.tokens.length
    if (batches.length === 0 || length > room) {
      batches.push([])
      room = budget
    }
    batches[batches.length - 1].push(item)
    room -= length
  }
  return batches
}

function tokensOf(items: readonly { readonly sample: Pick<TrainingSample, 'tokens'> }[]): number {
  return items.reduce((sum, { sample }) => sum + sample.tokens.length, 0)
}

/** Returns at most `count` parts. Their sizes differ by at most one, and none is empty. */
function split<T>(items: readonly T[], count: number): T[][] {
  const parts = Math.min(count, items.length)
  return Array.from({ length: parts }, (_, i) =>
    items.slice(Math.floor((i * items.length) / parts), Math.floor(((i + 1) * items.length) / parts)),
  )
}

function addInto(
  total: Map<string, tf.Tensor>,
  more: ReadonlyMap<string, tf.Tensor>,
): Map<string, tf.Tensor> {
  return new Map(
    [...total].map(([name, sum]) => {
      const next = more.get(name)!
      const added = tf.add(sum, next)
      tf.dispose([sum, next])
      return [name, added]
    }),
  )
}

function checkOptions({ config, params }: LocalModel, options: UpdateOptions): void {
  const refuse = (name: string, value: unknown, rule: string) => {
    throw new RlError(`update: ${name} is ${value}`, { code: 'model.options', hint: rule })
  }
  if (!(options.learningRate >= 0 && Number.isFinite(options.learningRate)))
    refuse('learningRate', options.learningRate, 'give a finite number of 0 or more')
  if (!(Number.isInteger(options.updates) && options.updates >= 1))
    refuse('updates', options.updates, 'give 1 or more')
  if (!(options.tokenBudget >= 1)) refuse('tokenBudget', options.tokenBudget, 'give 1 or more')
  const { temperature = 1, layers = config.layers } = options
  if (!(Number.isInteger(layers) && layers >= 1 && layers <= config.layers))
    refuse('layers', layers, `give 1 to ${config.layers}, or leave it out for all`)
  if (trainedNames(params, config.layers - layers).length === 0)
    refuse('layers', layers, 'the adapter is on none of them')
  if (!(temperature > 0)) refuse('temperature', temperature, 'give more than 0')
  if (options.clipNorm !== null && !(options.clipNorm > 0))
    refuse('clipNorm', options.clipNorm, 'give more than 0, or null')
}

function checkSample(
  { config }: LocalModel,
  sample: ScoredSample & Partial<TrainingSample>,
  budget: number,
): void {
  const { tokens, mask, advantages, logprobs, referenceLogprobs, allowed } = sample
  const length = tokens.length
  const refuse = (what: string, hint: string) => {
    throw new RlError(`sample ${sample.id ?? ''}: ${what}`, { code: 'model.sample', hint })
  }
  for (const [name, array] of Object.entries({ mask, advantages, logprobs, referenceLogprobs }))
    if (array && array.length !== length)
      refuse(`${name} has length ${array.length}, tokens ${length}`, 'lengths must agree')
  if (length > config.contextTokens)
    refuse(`${length} tokens in a context of ${config.contextTokens}`, 'cut or drop it')
  if (length > budget) refuse(`${length} tokens exceed tokenBudget ${budget}`, 'raise tokenBudget')
  if (mask[0])
    refuse('its first token is trained, but nothing predicts it', 'begin with a token that is not trained')
  if (!allowed) return
  for (let t = 0; t < length; t++) {
    const ids = allowed.tokens.subarray(allowed.offsets[t], allowed.offsets[t + 1])
    if (mask[t] && ids.length > 0 && !ids.includes(tokens[t]))
      refuse(
        `token ${tokens[t]} at ${t} is not among the allowed ones`,
        'keep what was allowed when it was sampled',
      )
  }
}
