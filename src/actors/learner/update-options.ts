import type { RunConfig, TrainedConfig } from '../../config-schema/sections.ts'
import type { Compute } from '../../models/local/model.ts'
import type { LossOptions, UpdateOptions } from '../../models/port.ts'
import type { Seed } from '../../random.ts'

type Section = TrainedConfig['training']

/** The keys of the section and its fine points in one map, as BatchReady tells them. */
export type Training = Omit<Section, 'expert'> & Section['expert']

/** The part of a config that says how a model's versions are made. */
export type TrainingConfig = {
  /** Section of the model. */
  readonly section: TrainedConfig
  readonly run: RunConfig
  readonly compute: Compute
  /** Whether samples are lessons: each marked token is to be said. Default: they are what the model said, with advantages. */
  readonly supervised?: boolean
}

/** Position of an update in its run, and the number of its samples. */
export type UpdatePlace = {
  readonly iteration: number
  readonly iterations: number
  readonly samples: number
}

/**
 * The config's section as it holds for one update: the learning rate of its iteration, and no more steps than its samples make.
 * @param iteration 1 to `iterations`
 */
export function trainingAt(section: Section, { iteration, iterations, samples }: UpdatePlace): Training {
  const { expert, ...usual } = section
  const training = { ...usual, ...expert }
  const { learningRate, schedule, warmup, updates, minSamples } = training
  const rising = Math.min(1, iteration / (warmup + 1))
  const falling = schedule === 'linear' ? (iterations - iteration + 1) / Math.max(1, iterations - warmup) : 1
  return {
    ...training,
    learningRate: learningRate * Math.min(rising, falling),
    updates: Math.max(1, Math.min(updates, Math.floor(samples / minSamples))),
  }
}

/**
 * Turns the config's section into options of the model port: the PPO update of one iteration.
 *
 * @param temperature temperature of the behaviour log-probs
 * @param supervised whether the samples are lessons
 */
export function updateOptions(
  training: Training,
  seed: Seed,
  temperature = 1,
  supervised = false,
): UpdateOptions {
  const { clipLow, clipHigh, dualClip, klWeight, objective, ratio, constantTokens } = training
  const { entropyWeight, entropyShare, offPolicyLimit, mismatch } = training
  const aggregate = training.aggregate === 'constant' ? { constantTokens } : training.aggregate
  const policyLoss: LossOptions = {
    kind: 'policy',
    clipLow,
    clipHigh,
    dualClip,
    klWeight,
    objective,
    ratio,
    aggregate,
    entropyWeight,
    entropyShare,
    offPolicyLimit,
    ...(mismatch === undefined ? {} : { mismatch }),
  }
  return {
    temperature,
    loss: supervised ? { kind: 'supervised' } : policyLoss,
    learningRate: training.learningRate,
    weightDecay: training.weightDecay,
    beta1: training.beta1,
    beta2: training.beta2,
    clipNorm: training.clipNorm,
    updates: training.updates,
    tokenBudget: training.tokenBudget,
    klLimit: supervised ? null : training.klLimit,
    klHalvings: training.klHalvings,
    layers: training.layers ?? undefined,
    resetOptimizer: training.resetOptimizer,
    seed,
  }
}

/** The temperature at which log-probs of a section's model are logged and learned from. */
export function logprobTemperature({
  temperature,
  expert: { logprobs },
}: {
  readonly temperature: number
  readonly expert: Pick<TrainedConfig['expert'], 'logprobs'>
}): number {
  return logprobs === 'sampling' && temperature > 0 ? temperature : 1
}
