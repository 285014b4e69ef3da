/**
 * First versions of small models for the coding setting. The policy imitates programs, reference solutions and a stated share
 * of copies with one fault; the writer of unit tests starts from its weights and imitates tests, a share of them wrong. So
 * both speak well and are right too seldom, which is what RL then repairs.
 */
import { createHash } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type CodingEnvironment, familyTexts } from '../../environments/coding/environment.ts'
import { compactProblem, scriptedUnitTest } from '../../environments/coding/family/unit-test.ts'
import { type Fault, scriptedProgram } from '../../environments/coding/scripted.ts'
import type { Task } from '../../environments/port.ts'
import type { BackendChoice } from '../../models/local/backend/backend.ts'
import { type LocalModelFace, openLocalModel } from '../../models/local/model.ts'
import { type PresetName, presetConfig } from '../../models/local/presets.ts'
import { createTokenizer } from '../../models/local/tokenizer.ts'
import { trainWordTokenizer } from '../../models/local/word-tokenizer.ts'
import type { TrainingSample } from '../../models/port.ts'
import { type Seed, seedOf } from '../../random.ts'
import { answerSample, type ProgramCodec, programCodec, programPrompt } from './program-packing.ts'
import { supervise } from './supervise.ts'

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
const VERSION = 3
/** Words of problems, programs and tests that are one token each; rarer ones are spelled. */
const WORDS = 500
/** How often an example comes up among the tests to imitate, for once that another test does. */
const EXAMPLE_WEIGHT = 4
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
    async demonstrate(codec, task, seed) {
      const problem = await resources.coding.problem(task)
      const { tests, examples } = problem
      const prompt = programPrompt(codec, 'test', compactProblem(problem))
      const shown = Array.from({ length: EXAMPLE_WEIGHT }, () => examples).flat()
      return { prompt, answer: scriptedUnitTest([...shown, ...tests], 1 - options.noise, seed) }
    },
  })
}

type Lesson = {
  readonly open: () => Promise<LocalModelFace>
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
  { tasks, cache, report = () => {} }: WrittenResources,
  { open, demonstrate }: Lesson,
): Promise<WrittenStart> {
  const identity = { VERSION, WORDS, EXAMPLE_WEIGHT, FAULTS, what, options, tasks: tasks.map(({ id }) => id) }
  const folder = join(cache, `${what}-${digest(identity)}`)
  if (existsSync(join(folder, FIGURES)))
    return { folder, cached: true, ...(JSON.parse(readFileSync(join(folder, FIGURES), 'utf8')) as Figures) }
  const model = await open()
  try {
    const codec = programCodec(model)
    const samples: TrainingSample[] = []
    for (const [index, task] of tasks.entries()) {
      const id = `demonstration-${index}`
      const { prompt, answer } = await demonstrate(codec, task, seedOf(options.seed, id))
      const sample = answerSample(id, prompt, [...codec.encode(answer), codec.end])
      if (sample.tokens.length <= options.contextTokens) samples.push(sample)
    }
    const { updates } = options
    const loss = await supervise(
      model,
      async () => samples,
      { ...options, seed: seedOf(options.seed, 'supervise') },
      (done, { loss }) =>
        report(`cold start (${what}s): update ${done} of ${updates}, loss ${loss.toFixed(3)}`),
    )
    const partial = `${folder}.${process.pid}.partial`
    await model.save(partial)
    // Moments of imitation are no moments of RL.
    await rm(join(partial, 'optimizer.safetensors'), { force: true })
    await writeFile(join(partial, FIGURES), JSON.stringify({ loss } satisfies Figures))
    await rm(folder, { recursive: true, force: true })
    await rename(partial, folder)
    return { folder, cached: false, loss }
  } finally {
    await model.close()
  }
}

type Figures = { readonly loss: number }
const FIGURES = 'cold-start.json'

function digest(value: unknown): string {
  return createHash('sha256').update(JSON.stringify(value)).digest('hex').slice(0, 16)
}
