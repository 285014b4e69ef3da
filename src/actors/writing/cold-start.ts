/**
 * First versions of small models for settings of texts. The policy imitates texts, a stated share of them wrong. The
 * writer of tests starts from the policy's weights. It learns to repeat the examples of its prompt, and imitates tests,
 * a share of them wrong. So both speak well and are right too seldom, which RL then repairs.
 */
import type { Task } from '../../environments/port.ts'
import {
  type Demonstration,
  identityOf,
  type Lessons,
  type OpenSetting,
  type Setting,
  type TestCase,
  type TestLessons,
} from '../../environments/setting.ts'
import { RlError } from '../../errors.ts'
import { type Compute, type LocalModelFace, openLocalModel } from '../../models/local/model.ts'
import { type PresetName, presetConfig } from '../../models/local/presets.ts'
import { createTokenizer, type TokenizerFiles } from '../../models/local/tokenizer.ts'
import { trainWordTokenizer } from '../../models/local/word-tokenizer.ts'
import type { TrainingSample } from '../../models/port.ts'
import { type Seed, seedOf } from '../../random.ts'
import { keptModel } from '../learner/kept-model.ts'
import { supervise } from '../learner/supervise.ts'
import { type DemonstrationFaults, demonstrationFaults } from '../policy/demonstration-faults.ts'
import type { TellFault } from '../runtime/tell-fault.ts'
import { copyingLesson, valueTokens } from './copying-lesson.ts'
import { answerSample, type TextCodec, textCodec, textPrompt } from './packing.ts'

export type WrittenColdStart = {
  /** Share of wrong texts among those that are imitated. */
  readonly noise: number
  readonly updates: number
  readonly batch: number
  readonly learningRate: number
  readonly tokenBudget: number
  readonly contextTokens: number
  readonly seed: Seed
}

export type WrittenResources<L = Lessons | TestLessons> = {
  readonly opened: OpenSetting
  readonly lessons: L
  /** Tasks of which one demonstration each is made. */
  readonly tasks: readonly Task[]
  /** Folder in which finished models are kept. */
  readonly cache: string
  readonly compute: Compute
  readonly report?: (message: string) => void
  /** Hears of tasks that cannot be demonstrated. */
  readonly tell?: TellFault
}

export type WrittenStart = {
  /** A Hugging Face folder without optimiser state. */
  readonly folder: string
  readonly cached: boolean
  /** Mean loss of the last updates. */
  readonly loss: number
  /** Demonstrations that were left out: the setting failed in them. */
  readonly failed: number
}

/** Raised when the same options would give another model. */
const VERSION = 6
/** Number of words of questions, texts and tests that are one token each. Rarer words are spelled. */
const WORDS = 500
/** Number of copying updates for each update of imitation, and the factor of their learning rate. */
const COPYING = { updates: 2, learningRate: 2 } as const

/** The tokenizer of a small model of texts. */
export function textTokenizer(lessons: Lessons, environment: OpenSetting['environment']): TokenizerFiles {
  return trainWordTokenizer({ texts: lessons.words(environment), maxWords: WORDS })
}

/** The policy's first version. */
export async function coldStartTexts(
  preset: PresetName,
  options: WrittenColdStart,
  resources: WrittenResources<Lessons>,
): Promise<WrittenStart> {
  const { opened, lessons } = resources
  return cachedModel('program', { preset, ...options }, resources, {
    async open() {
      const tokenizer = textTokenizer(lessons, opened.environment)
      const { size, encode } = createTokenizer(tokenizer)
      return openLocalModel({
        config: presetConfig(preset, {
          vocabSize: size,
          contextTokens: options.contextTokens,
          endToken: encode('<|im_end|>')[0],
        }),
        tokenizer,
        seed: options.seed[0],
        name: `cold start (${preset})`,
        ...resources.compute,
      })
    },
  })
}

/** The first version of the writer of tests, from the policy's. */
export async function coldStartTests(
  policy: { readonly folder: string; readonly sha256: string },
  options: WrittenColdStart,
  resources: WrittenResources<TestLessons>,
): Promise<WrittenStart> {
  const { opened, lessons, tasks } = resources
  const faults = demonstrationFaults(resources.tell ?? (async () => {}))
  return cachedModel('test', { policy: policy.sha256, ...options }, resources, {
    open: () => openLocalModel({ folder: policy.folder, ...resources.compute, trains: true }),
    async prepare(model, codec) {
      const tests: TestCase[] = []
      for (const task of new Set(tasks))
        await demonstrated(task, faults, async () => {
          tests.push(...(await lessons.tests(opened.environment, task)))
        })
      const values = valueTokens(codec, tests)
      const updates = Math.round(COPYING.updates * options.updates)
      const samples = copyingLesson(codec, values, { count: updates * options.batch, seed: options.seed })
      const learningRate = COPYING.learningRate * options.learningRate
      await learn(model, 'copying', samples, { ...options, updates, learningRate }, resources)
    },
  })
}

/** Returns the lessons of the setting for small models. Errors: `setting.lacks`. */
export function lessonsOf<L>({ name }: Setting, { lessons }: { readonly lessons?: L }): L {
  if (lessons) return lessons
  throw new RlError(`the setting '${name}' has no lessons for models that are trained from scratch`, {
    code: 'setting.lacks',
    hint: 'use a released model, or one that reads prompts',
  })
}

type Start = {
  readonly open: () => Promise<LocalModelFace>
  /** Teaches the model before the demonstrations. */
  readonly prepare?: (model: LocalModelFace, codec: TextCodec) => Promise<void>
}

/** Makes a model, or finds it in the cache. */
async function cachedModel(
  what: 'program' | 'test',
  options: WrittenColdStart & Readonly<Record<string, unknown>>,
  resources: WrittenResources,
  { open, prepare }: Start,
): Promise<WrittenStart> {
  const { opened, lessons, tasks, cache, tell = async () => {}, report = () => {} } = resources
  const faults = demonstrationFaults(tell)
  const ids = tasks.map(({ id }) => id)
  const { folder, cached, figures } = await keptModel({
    cache,
    name: what,
    identity: {
      VERSION,
      WORDS,
      COPYING,
      what,
      options,
      tasks: ids,
      lessons: lessons.version,
      setting: opened.setting.name,
      ...identityOf(opened),
    },
    compute: resources.compute,
    open,
    async teach(model) {
      const codec = textCodec(model)
      await prepare?.(model, codec)
      const samples: TrainingSample[] = []
      for (const [index, task] of tasks.entries()) {
        const id = `demonstration-${index}`
        await demonstrated(task, faults, async () => {
          const { question, answer }: Demonstration = await lessons.demonstrate(
            opened.environment,
            task,
            options.noise,
            seedOf(options.seed, id),
          )
          const prompt = textPrompt(codec, what, question)
          samples.push(answerSample(id, prompt, [...codec.encode(answer), codec.end]))
        })
      }
      const first = faults.first()
      if (samples.length === 0 && first) throw first
      const loss = await learn(model, `${what}s`, samples, options, resources)
      return { loss, failed: faults.count() }
    },
    report,
  })
  return { folder, cached, loss: figures.loss ?? 0, failed: figures.failed ?? 0 }
}

/** Demonstrates tasks. A task whose demonstration fails is left out and told. */
async function demonstrated(
  task: Task,
  faults: DemonstrationFaults,
  show: () => Promise<void>,
): Promise<void> {
  if (faults.isHung(task)) return
  try {
    await show()
    faults.played()
  } catch (error) {
    await faults.failed(task, error)
  }
}

/** Trains on the samples that fit the context. Resolves to the loss at the end. */
function learn(
  model: LocalModelFace,
  what: string,
  samples: readonly TrainingSample[],
  options: WrittenColdStart,
  { report = () => {} }: WrittenResources,
): Promise<number> {
  const fitting = samples.filter(({ tokens }) => tokens.length <= options.contextTokens)
  const long = samples.length - fitting.length
  const told = `cold start (${what}): ${long} of ${samples.length} lessons are longer than ${options.contextTokens} tokens`
  if (fitting.length === 0)
    throw new RlError(told, {
      code: 'data.empty',
      hint: 'raise policy.contextTokens, or write shorter lessons',
    })
  if (long > 0) report(`${told} and left out`)
  return supervise(
    model,
    async () => fitting,
    { ...options, seed: seedOf(options.seed, 'supervise') },
    (done, { loss }) =>
      report(`cold start (${what}): update ${done} of ${options.updates}, loss ${loss.toFixed(3)}`),
  )
}
