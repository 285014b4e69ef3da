/**
 * The policy's first version: a new model taught on demonstrations of a noisy expert. So it speaks well and decides
 * poorly, which RL then repairs. The same recipe is made once and kept under its digest.
 */
import type { Task } from '../../environments/port.ts'
import { identityOf, type OpenSetting } from '../../environments/setting.ts'
import { RlError } from '../../errors.ts'
import { modelPlace } from '../../models/hub-folder.ts'
import { weightsDigest } from '../../models/local/checkpoint.ts'
import type { LoraConfig } from '../../models/local/lora.ts'
import { type Compute, type LocalModelFace, openLocalModel } from '../../models/local/model.ts'
import { readModelFolder } from '../../models/local/model-folder.ts'
import { type PresetName, presetConfig } from '../../models/local/presets.ts'
import { createTokenizer } from '../../models/local/tokenizer.ts'
import { trainWordTokenizer } from '../../models/local/word-tokenizer.ts'
import type { TrainingSample } from '../../models/port.ts'
import { type Seed, seedOf } from '../../random.ts'
import { type Figures, keptModel } from '../learner/kept-model.ts'
import { supervise } from '../learner/supervise.ts'
import { codecOf, viewOf } from '../rollout/packing.ts'
import type { TellFault } from '../runtime/tell-fault.ts'
import { demonstrationFaults } from './demonstration-faults.ts'
import { demonstrate } from './demonstrations.ts'
import { type Lesson, type LessonPlan, packedLesson } from './lessons.ts'
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
  /** Source of the tasks. One episode of each task is demonstrated. */
  readonly opened: OpenSetting
  readonly tasks: readonly Task[]
  /** Folder in which finished models are kept, e.g. `.cache/cold-start`. */
  readonly cache: string
  readonly compute: Compute
  readonly report?: (message: string) => void
  /** Hears of tasks that cannot be demonstrated. */
  readonly tell?: TellFault
}

export type PolicyStart = {
  /** A Hugging Face folder without optimiser state. */
  readonly folder: string
  readonly cached: boolean
  /** Share of the demonstrations that reached the goal. Null in the same cases. */
  readonly expertSuccess: number | null
  /** Demonstrations that were left out: their beginning alone is longer than the context. */
  readonly tooLong: number
  /** Demonstrations that were left out: the environment failed in them. */
  readonly failed: number
  /** Mean loss of the last updates. Null if nothing was demonstrated, or if an older version made the model. */
  readonly loss: number | null
}

/** Raised when the same options would give another model. */
const VERSION = 2

/** Makes the model, or finds it in the cache. */
export async function coldStartPolicy(
  options: PolicyColdStart,
  { opened, tasks, cache, compute, report = () => {}, tell = async () => {} }: ColdStartResources,
): Promise<PolicyStart> {
  const vocabulary = await vocabularyOf(opened, tasks, options, demonstrationFaults(tell))
  const { preset, contextTokens, seed } = options
  const { folder, cached, figures } = await keptModel({
    cache,
    name: 'policy',
    identity: { VERSION, options, ...vocabulary, tasks: tasks.map(({ id }) => id), ...identityOf(opened) },
    compute,
    async open() {
      const tokenizer = trainWordTokenizer(vocabulary)
      const { size, encode } = createTokenizer(tokenizer)
      return openLocalModel({
        config: presetConfig(preset, { vocabSize: size, contextTokens, endToken: codecOf(encode).end }),
        tokenizer,
        seed: seed[0],
        name: `cold start (${preset})`,
        ...compute,
      })
    },
    teach: (model) =>
      teach(model, packedLesson(codecOf(model.encode, viewOf(opened)), contextTokens), options, {
        opened,
        tasks,
        report,
        tell,
      }),
    report,
  })
  return startOf(folder, cached, figures)
}

/**
 * Makes the first version of a released model: a fresh adapter on its folder. It is taught on demonstrations in the
 * words of its later prompts.
 */
export async function coldStartAdapter(
  options: Omit<PolicyColdStart, 'preset'> & {
    readonly base: string
    readonly lora: LoraConfig
    readonly cacheBytes: number
  },
  { opened, tasks, cache, compute, report = () => {}, tell = async () => {} }: ColdStartResources,
  lesson: LessonPlan | null,
): Promise<PolicyStart> {
  const base = modelPlace(options.base)
  const weights = await weightsDigest(await readModelFolder(base))
  const recipe = { VERSION, options: { ...options, base }, weights, tasks: tasks.map(({ id }) => id) }
  const { seed, lora, cacheBytes } = options
  const { folder, cached, figures } = await keptModel({
    cache,
    name: 'adapter',
    identity: { ...recipe, ...identityOf(opened), ...lesson?.identity },
    compute,
    open: () =>
      openLocalModel({
        ...compute,
        folder: base,
        cacheBytes,
        trains: true,
        lora: { ...lora, seed: seed[0] },
      }),
    teach: async (model) =>
      lesson ? teach(model, lesson.of(model), options, { opened, tasks, report, tell }) : {},
    report,
  })
  return startOf(folder, cached, figures)
}

function startOf(folder: string, cached: boolean, figures: Figures): PolicyStart {
  const { loss = null, expertSuccess = null, tooLong = 0, failed = 0 } = figures
  return { folder, cached, loss, expertSuccess, tooLong, failed }
}

/** Makes a supervised start on demonstrations. Without an expert there are no figures. */
async function teach(
  model: LocalModelFace,
  lesson: Lesson,
  options: Omit<PolicyColdStart, 'preset'>,
  { opened, tasks, report, tell }: Required<Pick<ColdStartResources, 'opened' | 'tasks' | 'report' | 'tell'>>,
): Promise<Figures> {
  const { updates, batch, learningRate, tokenBudget, seed } = options
  const demonstrations = demonstrationStream(opened, tasks, lesson, options, tell)
  if (!demonstrations) return {}
  const loss = await supervise(
    model,
    demonstrations.upTo,
    { updates, batch, learningRate, tokenBudget, seed: seedOf(seed, 'supervise') },
    (done, { loss }) => report(`cold start: update ${done} of ${updates}, loss ${loss.toFixed(3)}`),
  )
  return { loss, ...demonstrations.counted() }
}

/**
 * Returns null if the environment has no expert. The model then starts from random weights. Samples are made lazily:
 * this thread demonstrates while the model's thread trains.
 */
function demonstrationStream(
  opened: OpenSetting,
  tasks: readonly Task[],
  lesson: Lesson,
  { expertNoise, maxSteps, seed }: Omit<PolicyColdStart, 'preset'>,
  tell: TellFault,
) {
  const { setting, environment } = opened
  if (!setting.expert) return null
  const faults = demonstrationFaults(tell)
  const samples: TrainingSample[] = []
  let successes = 0
  let shown = 0
  let made = 0
  let tooLong = 0

  async function show(wanted: number): Promise<void> {
    const demonstrations = await demonstrate(
      environment,
      tasks.slice(shown, wanted),
      (first, task) => setting.expert!(environment, first, task),
      { noise: expertNoise, maxSteps, seed, from: shown, faults },
    )
    shown = wanted
    made += demonstrations.length
    for (const demonstration of demonstrations) {
      if (demonstration.outcome === 1) successes++
      const own = lesson.samplesOf(demonstration)
      if (own.length === 0) tooLong++
      samples.push(...own)
    }
  }

  return {
    counted: () => ({ tooLong, failed: faults.count(), expertSuccess: successes / Math.max(1, made) }),
    /** The first `share` of all samples. */
    async upTo(share: number) {
      const wanted = Math.min(tasks.length, Math.max(1, Math.ceil(share * tasks.length)))
      await show(Math.max(shown, wanted))
      // The first ones have failed: others may not.
      while (made === 0 && shown < tasks.length) await show(shown + 1)
      const first = faults.first()
      if (made === 0 && first) throw first
      if (samples.length === 0)
        throw new RlError(
          `each of ${made} demonstrations begins with more than ${lesson.mostTokens} tokens`,
          { code: 'model.context', hint: lesson.hint },
        )
      return samples
    },
  }
}
