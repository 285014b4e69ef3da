/**
 * First versions of small models for the coding setting. The policy imitates programs, reference solutions and a stated share
 * of copies with one fault; the writer of unit tests starts from its weights, learns to repeat the examples of its prompt, and
 * imitates tests, a share of them wrong. So both speak well and are right too seldom, which is what RL then repairs.
 */
import { type CodingEnvironment, familyTexts } from '../../environments/coding/environment.ts'
import { compactProblem, scriptedUnitTest } from '../../environments/coding/family/unit-test.ts'
import type { CodingProblem, TestCase } from '../../environments/coding/problem.ts'
import { type Fault, scriptedProgram } from '../../environments/coding/scripted.ts'
import type { Task } from '../../environments/port.ts'
import type { BackendChoice } from '../../models/local/backend/backend.ts'
import { type LocalModelFace, openLocalModel } from '../../models/local/model.ts'
import { type PresetName, presetConfig } from '../../models/local/presets.ts'
import { createTokenizer } from '../../models/local/tokenizer.ts'
import { trainWordTokenizer } from '../../models/local/word-tokenizer.ts'
import type { TrainingSample } from '../../models/port.ts'
import { rng, type Seed, seedOf } from '../../random.ts'
import { keptModel } from '../learner/kept-model.ts'
import { supervise } from '../learner/supervise.ts'
import { copyingLesson, valueTokens } from './copying-lesson.ts'
import { answerSample, type ProgramCodec, programCodec, programPrompt } from './program-packing.ts'

export type WrittenColdStart = {
  /** Share of faulty programs, or of wrong tests, among what is imitated. */
  readonly noise: number
  readonly updates: number
  readonly batch: number
  readonly learningRate: number
  readonly tokenBudget: number
  readonly contextTokens: number
  readonly seed: Seed
}

export type WrittenResources = {
  readonly coding: CodingEnvironment
  /** One demonstration of each. */
  readonly tasks: readonly Task[]
  /** Folder in which finished models are kept. */
  readonly cache: string
  readonly backend: BackendChoice
  readonly report?: (message: string) => void
}

export type WrittenStart = {
  /** A Hugging Face folder without optimiser state. */
  readonly folder: string
  readonly cached: boolean
  /** Mean loss of the last updates. */
  readonly loss: number
}

/** Raised when the same options would give another model. */
const VERSION = 5
/** Words of problems, programs and tests that are one token each; rarer ones are spelled. */
const WORDS = 500
/** How often an example comes up among the tests to imitate, for once that another test does. */
const EXAMPLE_WEIGHT = 24
/** Updates of copying for one of imitation, and their learning rate for one of its. */
const COPYING = { updates: 2, learningRate: 2 } as const
/** Faults that a word-level model can write, and that cost no time to run. */
const FAULTS: readonly Fault[] = ['other-constant', 'other-operator', 'other-function', 'extra-output']

/** The policy's first version. */
export async function coldStartPrograms(
  preset: PresetName,
  options: WrittenColdStart,
  resources: WrittenResources,
): Promise<WrittenStart> {
  return cachedModel('program', { preset, ...options }, resources, {
    async open() {
      const tokenizer = trainWordTokenizer({ texts: familyTexts(), maxWords: WORDS })
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
        backend: resources.backend,
      })
    },
    async demonstrate(codec, task, seed) {
      const problem = await resources.coding.problem(task)
      const prompt = programPrompt(codec, 'program', problem.question)
      return { prompt, answer: scriptedProgram(problem, 1 - options.noise, seed, FAULTS) }
    },
  })
}

/** The first version of the writer of unit tests, from the policy's. */
export async function coldStartTests(
  policy: { readonly folder: string; readonly sha256: string },
  options: WrittenColdStart,
  resources: WrittenResources,
): Promise<WrittenStart> {
  return cachedModel('test', { policy: policy.sha256, ...options }, resources, {
    open: () => openLocalModel({ folder: policy.folder, backend: resources.backend }),
    async prepare(model, codec) {
      const different = [...new Set(resources.tasks)]
      const problems = await Promise.all(different.map((task) => resources.coding.problem(task)))
      const values = valueTokens(codec, problems.flatMap(testsOf))
      const updates = Math.round(COPYING.updates * options.updates)
      const samples = copyingLesson(codec, values, { count: updates * options.batch, seed: options.seed })
      const learningRate = COPYING.learningRate * options.learningRate
      await learn(model, 'copying', samples, { ...options, updates, learningRate }, resources)
    },
    async demonstrate(codec, task, seed) {
      const problem = await resources.coding.problem(task)
      // Other examples each time a problem comes up: what they are cannot be learned by heart.
      const all = rng(seedOf(seed, 'examples')).shuffle(testsOf(problem))
      const examples = all.slice(0, problem.examples.length)
      const shown = Array.from({ length: EXAMPLE_WEIGHT - 1 }, () => examples).flat()
      const { question } = problem
      const prompt = programPrompt(codec, 'test', compactProblem({ question, examples }))
      return { prompt, answer: scriptedUnitTest([...shown, ...all], 1 - options.noise, seed) }
    },
  })
}

const testsOf = ({ examples, tests }: CodingProblem): readonly TestCase[] => [...examples, ...tests]

type Lesson = {
  readonly open: () => Promise<LocalModelFace>
  /** What is learned before the demonstrations. */
  readonly prepare?: (model: LocalModelFace, codec: ProgramCodec) => Promise<void>
  readonly demonstrate: (
    codec: ProgramCodec,
    task: Task,
    seed: Seed,
  ) => Promise<{ readonly prompt: readonly number[]; readonly answer: string }>
}

/** Makes a model, or finds it in the cache. */
async function cachedModel(
  what: 'program' | 'test',
  options: WrittenColdStart & Readonly<Record<string, unknown>>,
  resources: WrittenResources,
  { open, prepare, demonstrate }: Lesson,
): Promise<WrittenStart> {
  const { tasks, cache } = resources
  const ids = tasks.map(({ id }) => id)
  const { folder, cached, figures } = await keptModel({
    cache,
    name: what,
    identity: { VERSION, WORDS, EXAMPLE_WEIGHT, COPYING, FAULTS, what, options, tasks: ids },
    open,
    async teach(model) {
      const codec = programCodec(model)
      await prepare?.(model, codec)
      const samples: TrainingSample[] = []
      for (const [index, task] of tasks.entries()) {
        const id = `demonstration-${index}`
        const { prompt, answer } = await demonstrate(codec, task, seedOf(options.seed, id))
        samples.push(answerSample(id, prompt, [...codec.encode(answer), codec.end]))
      }
      return { loss: await learn(model, `${what}s`, samples, options, resources) }
    },
  })
  return { folder, cached, loss: figures.loss ?? 0 }
}

/** Supervised training on the samples that the context holds; resolves to the loss at its end. */
function learn(
  model: LocalModelFace,
  what: string,
  samples: readonly TrainingSample[],
  options: WrittenColdStart,
  { report = () => {} }: WrittenResources,
): Promise<number> {
  const fitting = samples.filter(({ tokens }) => tokens.length <= options.contextTokens)
  return supervise(
    model,
    async () => fitting,
    { ...options, seed: seedOf(options.seed, 'supervise') },
    (done, { loss }) =>
      report(`cold start (${what}): update ${done} of ${options.updates}, loss ${loss.toFixed(3)}`),
  )
}
