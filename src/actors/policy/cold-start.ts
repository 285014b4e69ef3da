/**
 * The policy's first version: a new model taught on demonstrations of a noisy expert, so that it speaks well and decides
 * poorly, which is what RL then repairs. The same recipe is made once and kept under its digest.
 */
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Task } from '../../environments/port.ts'
import type { OpenSetting } from '../../environments/setting.ts'
import type { BackendChoice } from '../../models/local/backend/backend.ts'
import { openLocalModel } from '../../models/local/model.ts'
import { type PresetName, presetConfig } from '../../models/local/presets.ts'
import { createTokenizer } from '../../models/local/tokenizer.ts'
import { trainWordTokenizer } from '../../models/local/word-tokenizer.ts'
import { type Seed, seedOf } from '../../random.ts'
import { supervise } from '../learner/supervise.ts'
import { type Codec, codecOf, viewOf } from '../rollout/packing.ts'
import { demonstrate } from './demonstrations.ts'
import { type Demonstration, demonstrationSample } from './samples.ts'
import { vocabularyOf } from './vocabulary.ts'

export type PolicyColdStart = {
  readonly preset: PresetName
  readonly contextTokens: number
  /** Share of random commands in the demonstrations. */
  readonly expertNoise: number
  readonly maxSteps: number
  readonly updates: number
  readonly batch: number
  readonly learningRate: number
  readonly tokenBudget: number
  readonly seed: Seed
}

export type ColdStartResources = {
  /** Where the tasks come from; one episode of each is demonstrated. */
  readonly opened: OpenSetting
  readonly tasks: readonly Task[]
  /** Folder in which finished models are kept, e.g. `.cache/cold-start`. */
  readonly cache: string
  readonly backend: BackendChoice
  /** Threads of the native BLAS while nothing else runs. */
  readonly blasThreads?: number
  readonly report?: (message: string) => void
}

export type PolicyStart = {
  /** A Hugging Face folder without optimiser state. */
  readonly folder: string
  readonly cached: boolean
  /** Share of the demonstrations that reached the goal; null where nothing was demonstrated. */
  readonly expertSuccess: number | null
  /** Mean loss of the last updates; null where the model was there already, or nothing was demonstrated. */
  readonly loss: number | null
}

/** Raised when the same options would give another model. */
const VERSION = 1

/** Makes the model, or finds it in the cache. */
export async function coldStartPolicy(
  options: PolicyColdStart,
  { opened, tasks, cache, backend, blasThreads, report = () => {} }: ColdStartResources,
): Promise<PolicyStart> {
  const vocabulary = await vocabularyOf(opened, tasks, options)
  const folder = join(
    cache,
    `policy-${digest({ VERSION, options, ...vocabulary, tasks: tasks.map(({ id }) => id) })}`,
  )
  if (existsSync(join(folder, 'config.json')))
    return { folder, cached: true, expertSuccess: null, loss: null }
  const tokenizer = trainWordTokenizer(vocabulary)
  const { size, encode } = createTokenizer(tokenizer)
  const codec = codecOf(encode, viewOf(opened))
  const { preset, contextTokens, updates, batch, learningRate, tokenBudget, seed } = options
  const model = await openLocalModel({
    config: presetConfig(preset, { vocabSize: size, contextTokens, endToken: codec.end }),
    tokenizer,
    seed: seed[0],
    name: `cold start (${preset})`,
    backend,
    blasThreads,
  })
  try {
    const demonstrations = demonstrationStream(opened, tasks, codec, options)
    const loss =
      demonstrations &&
      (await supervise(
        model,
        demonstrations.upTo,
        { updates, batch, learningRate, tokenBudget, seed: seedOf(seed, 'supervise') },
        (done, { loss }) => report(`cold start: update ${done} of ${updates}, loss ${loss.toFixed(3)}`),
      ))
    const partial = `${folder}.partial`
    await model.save(partial)
    // Moments of imitation are no moments of RL.
    await rm(join(partial, 'optimizer.safetensors'), { force: true })
    await rm(folder, { recursive: true, force: true })
    await rename(partial, folder)
    return { folder, cached: false, expertSuccess: demonstrations?.success() ?? null, loss }
  } finally {
    await model.close()
  }
}

/** Null without an expert: then the model begins as it is drawn. Samples are made as they are needed: demonstrating goes on in this thread while the model learns in its own. */
function demonstrationStream(
  opened: OpenSetting,
  tasks: readonly Task[],
  codec: Codec,
  { expertNoise, maxSteps, contextTokens, seed }: PolicyColdStart,
) {
  const { setting, environment } = opened
  if (!setting.expert) return null
  const samples: ReturnType<typeof demonstrationSample>[] = []
  let successes = 0
  return {
    success: () => successes / Math.max(1, samples.length),
    /** The first `share` of all samples. */
    async upTo(share: number) {
      const wanted = Math.min(tasks.length, Math.max(1, Math.ceil(share * tasks.length)))
      const made: (Demonstration & { readonly outcome: number })[] = await demonstrate(
        environment,
        tasks.slice(samples.length, wanted),
        (first) => setting.expert!(environment, first),
        { noise: expertNoise, maxSteps, seed, from: samples.length },
      )
      for (const demonstration of made) {
        if (demonstration.outcome === 1) successes++
        samples.push(demonstrationSample(codec, demonstration, contextTokens))
      }
      return samples
    },
  }
}

function digest(value: unknown): string {
  return createHash('sha256').update(JSON.stringify(value)).digest('hex').slice(0, 16)
}
