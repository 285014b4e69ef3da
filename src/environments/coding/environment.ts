/**
 * The coding setting behind the one environment port. An episode has one step: the observation is the problem, the action is the
 * program, the outcome is the share of the problem's tests that it passes.
 *
 * Running a program takes time, and a step of the port does not wait. So a step ends the episode, and `settle` runs the program:
 * until then the episode has no outcome.
 */
import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { RlError } from '../../errors.ts'
import type { Seed } from '../../random.ts'
import type {
  Environment,
  Episode,
  ImmediateEpisode,
  Rewrite,
  RewriteRequest,
  Task,
  Turn,
  Validation,
} from '../port.ts'
import type { Evidence } from '../texts.ts'
import { briefingOf, writtenTask } from './briefing.ts'
import { candidateProblem, checkCandidate } from './candidate.ts'
import { type ChooseOptions, type ChosenExecutor, chooseExecutor } from './choose.ts'
import { type LoadedProblems, loadProblems, skippedLine } from './dataset.ts'
import type { Executor, Language, Limits } from './executor.ts'
import { type FamilyRecipe, parseRecipe, problemOf, templateOf, whyPoor } from './family/recipe.ts'
import { rewriteRecipe } from './family/rewrite.ts'
import { drawRecipes, type FamilySplit, templates } from './family/templates.ts'
import { readUnitTest, writeUnitTest } from './family/unit-test.ts'
import { type Grade, grade, shareOf } from './grade.ts'
import { languageNote, type ParsedTest, parseProgram, parseUnitTest } from './parse.ts'
import { type CodingProblem, isRunnable, type TestCase } from './problem.ts'

const NAME = 'coding'

export type CodingSource =
  | {
      readonly kind: 'generated'
      readonly seed: number
      /** How many problems each split has. */
      readonly counts: Readonly<Record<FamilySplit, number>>
      /** Problems of a higher level are left out: 2 easy, 4 medium, 9 all. */
      readonly maxLevel: number
    }
  /** Problem files, or folders of them; a problem without a split belongs to `train`. */
  | {
      readonly kind: 'files'
      readonly paths: readonly string[]
      readonly tests?: number
      readonly seed?: number
    }

export type CodingOptions = {
  readonly source: CodingSource
  /** Runs the programs; where absent one is chosen at the first need and closed with the environment. */
  readonly executor?: Executor
  readonly choose?: ChooseOptions
  /** In place of the problems' own. */
  readonly limits?: Partial<Limits>
  /** Of the policy's programs; default Python. */
  readonly language?: Language
}

/** One step: the program. Settled, it knows which of its task's tests the program passes, and how each run ended. */
export interface CodingEpisode extends ImmediateEpisode {
  step(action: string): CodingEpisode
  readonly tested?: { readonly passed: readonly boolean[]; readonly verdicts: readonly string[] }
}

export interface CodingEnvironment extends Environment {
  reset(task: Task, options: { readonly seed: Seed; readonly maxSteps: number }): Promise<CodingEpisode>
  /** Runs an ended episode's program; resolves to the episode with its outcome. Rejects with an RlError where no sandbox could run it. */
  settle(episode: Episode): Promise<CodingEpisode>
  /** The problem in words. */
  describe(task: Task): Promise<string>
  rewrite(request: RewriteRequest): Promise<Rewrite>
  /** Values for the prompt of rewriting by a language model. */
  briefing(request: RewriteRequest & Evidence): Promise<Readonly<Record<string, string>>>
  rewriteAs(request: RewriteRequest, answer: string): Promise<Rewrite>
  validate(task: Task): Promise<Validation>
  /** The problem of a task. */
  problem(task: Task): Promise<CodingProblem>
  /** The unit test in a reward model's text. */
  readTest(text: string): ParsedTest
  /** [actions][tests] every action's program against every test. Rejects with an RlError where no sandbox could run one. */
  runTests(task: Task, actions: readonly string[], tests: readonly TestCase[]): Promise<Grade[][]>
  /** Texts of problems, programs and tests of the family, for a tokenizer. */
  words(): readonly string[]
  /** What runs the programs. */
  executor(): Promise<Executor>
  /** What runs the programs and why that, for people. */
  runtime(): Promise<string>
  close(): Promise<void>
}

export function codingEnvironment({
  source,
  executor,
  choose,
  limits,
  language = 'python',
}: CodingOptions): CodingEnvironment {
  let chosen: Promise<ChosenExecutor> | null = null
  let loaded: Promise<readonly CodingProblem[]> | null = null
  const style = source.kind === 'files' ? 'fenced' : 'plain'

  const open = async (): Promise<Executor> => {
    if (executor) return executor
    return (await choice()).executor
  }

  /** One that failed is made again at the next need. */
  function choice(): Promise<ChosenExecutor> {
    chosen ??= chooseExecutor(choose).catch((error) => {
      chosen = null
      throw error
    })
    return chosen
  }

  function load(): Promise<readonly CodingProblem[]> {
    if (source.kind !== 'files') return Promise.resolve([])
    const { paths, tests, seed } = source
    loaded ??= problemFiles(paths)
      .then((files) => loadProblems(files, { tests, seed }))
      .then(toldSkipped)
    return loaded
  }

  async function tasks(split: string): Promise<readonly Task[]> {
    if (source.kind === 'generated') {
      if (!isFamilySplit(split))
        throw new RlError(`generated problems have no split '${split}'`, {
          code: 'coding.split',
          hint: 'there are train, in-domain and ood',
        })
      const { seed, counts, maxLevel } = source
      return drawRecipes({ split, count: counts[split], maxLevel, seed }).map(familyTask)
    }
    return (await load()).filter((problem) => (problem.split ?? 'train') === split).map(fileTask)
  }

  async function problem(task: Task): Promise<CodingProblem> {
    const found = await problemAsWritten(task)
    if (language !== 'python' && found.call.kind !== 'stdio')
      throw new RlError(
        `the tests of '${task.id}' call a function in Python, environment.language is ${language}`,
        {
          code: 'coding.language',
          hint: 'take problems with standard input and output, or python',
        },
      )
    return { ...found, limits: { ...found.limits, ...limits } }
  }

  async function problemAsWritten(task: Task): Promise<CodingProblem> {
    const { recipe } = task
    if (recipe.kind === 'generated') return problemOf(parseRecipe(recipe))
    if (recipe.kind === 'written') {
      const parsed = checkCandidate(recipe.problem)
      if ('candidate' in parsed) return candidateProblem(task.id, parsed.candidate)
      throw new RlError(`the task '${task.id}' is no problem: ${parsed.reason}`, { code: 'coding.recipe' })
    }
    const found = (await load()).find(({ id }) => id === recipe.id)
    if (found) return found
    throw new RlError(`the problem of the task '${task.id}' is in none of the files`, {
      code: 'coding.no-problem',
      hint: 'open the environment with the files that the run was started with',
    })
  }

  async function settle(episode: CodingEpisode): Promise<CodingEpisode> {
    if (!isSubmitted(episode)) return episode
    const of = await problem(episode.task)
    const [grades] = await grade(await open(), [
      { problem: of, program: episode.program, language, tests: of.tests },
    ])
    const value = shareOf(grades)
    if (value === null) throw sandboxError(episode.task, grades)
    return settledEpisode(episode, value, grades)
  }

  async function runTests(task: Task, actions: readonly string[], tests: readonly TestCase[]) {
    const of = await problem(task)
    const programs = actions.map((action) => ({
      problem: of,
      program: programOf(action, style, language),
      language,
      tests,
    }))
    const grades = await grade(await open(), programs)
    const failed = grades.find((row) => shareOf(row) === null)
    if (failed) throw sandboxError(task, failed)
    return grades
  }

  async function rewrite(request: RewriteRequest): Promise<Rewrite> {
    const { recipe } = request.task
    if (recipe.kind !== 'generated')
      return { refused: 'only generated problems can be rewritten without a language model' }
    const rewritten = rewriteRecipe(parseRecipe(recipe), request.direction, request)
    return typeof rewritten === 'string' ? { refused: rewritten } : { task: familyTask(rewritten) }
  }

  async function rootOf({ task, root }: RewriteRequest & Evidence): Promise<string> {
    return root && root.id !== task.id ? observationOf(await problem(root)) : 'the present version'
  }

  async function validate(task: Task): Promise<Validation> {
    if (task.recipe.kind === 'generated') {
      const reason = whyPoor(parseRecipe(task.recipe))
      if (reason !== null) return { ok: false, reason }
    }
    const of = await problem(task)
    if (!of.tests.some(isRunnable)) return { ok: false, reason: 'no test has both an input and an output' }
    const [program] = of.solutions
    if (program === undefined) return { ok: true } // its trial is its proof: someone must solve it
    const [grades] = await grade(await open(), [{ problem: of, program, tests: of.tests }])
    const failed = grades.findIndex(({ passed }) => passed !== true)
    return failed < 0
      ? { ok: true }
      : {
          ok: false,
          reason: `its reference solution fails test ${failed + 1}: ${grades[failed].result.verdict}`,
        }
  }

  return {
    tasks,
    problem,
    settle,
    rewrite,
    briefing: async (request) => briefingOf(request, await problem(request.task), await rootOf(request)),
    rewriteAs: async (request, answer) => writtenTask(request, answer),
    validate,
    runTests,
    readTest(text) {
      const published = parseUnitTest(text)
      return 'test' in published || style === 'fenced' ? published : readUnitTest(text)
    },
    words: familyTexts,
    executor: open,
    async runtime() {
      if (executor) return executor.provider.name
      const { name, reason, passedOver } = await choice()
      const others = passedOver.map((other) => `; not ${other.name}: ${other.reason}`)
      return `sandbox ${name}, which ${reason}${others.join('')}`
    },
    async reset(task) {
      const observation = `${observationOf(await problem(task))}${languageNote(language)}`
      return openEpisode(task, observation, (action) => programOf(action, style, language))
    },
    describe: async (task) => observationOf(await problem(task)),
    async close() {
      if (chosen) await (await chosen).executor.close()
    },
  }
}

/** The problem as the policy reads it: the question and its examples. */
export function observationOf({ question, examples }: CodingProblem): string {
  const shown = examples.map(
    ({ input, output }) => `example input:\n${input.trimEnd()}\nexample output:\n${output.trimEnd()}`,
  )
  return [question, ...shown].join('\n')
}

/** The program of an action: its last fenced block of the language; for small models, which write no fences, the text itself. */
export function programOf(action: string, style: 'fenced' | 'plain', language: Language): string {
  const parsed = parseProgram(action, language)
  if ('program' in parsed) return parsed.program
  return style === 'plain' && !action.includes('```') ? action : ''
}

type SubmittedEpisode = CodingEpisode & { readonly program: string }

const isSubmitted = (episode: CodingEpisode): episode is SubmittedEpisode => 'program' in episode

function openEpisode(task: Task, observation: string, read: (action: string) => string): CodingEpisode {
  const turn: Turn = { observation, admissible: [], done: false, ended: null }
  return { task, turn, steps: 0, step: (action) => submit(task, read(action)), outcome: () => 0 }
}

/** The program is written and not yet run. */
function submit(task: Task, program: string): SubmittedEpisode {
  const episode: SubmittedEpisode = {
    task,
    program,
    turn: { observation: '', admissible: [], done: true, ended: 'step-limit' },
    steps: 1,
    step: () => episode,
    outcome() {
      throw new RlError(`the program for '${task.id}' has not been run`, {
        code: 'coding.unsettled',
        hint: 'await environment.settle(episode) first',
      })
    },
  }
  return episode
}

function settledEpisode({ task, steps }: Episode, value: number, grades: readonly Grade[]): CodingEpisode {
  const episode: CodingEpisode = {
    task,
    turn: { observation: '', admissible: [], done: true, ended: value === 1 ? 'goal' : 'step-limit' },
    steps,
    step: () => episode,
    outcome: () => value,
    tested: {
      passed: grades.map(({ passed }) => passed === true),
      verdicts: grades.map(({ result }) => result.verdict),
    },
  }
  return episode
}

function familyTask(recipe: FamilyRecipe): Task {
  const { id, question } = problemOf(recipe)
  return { id, environment: NAME, kind: templateOf(recipe), goal: question, recipe }
}

function fileTask({ id, question }: CodingProblem): Task {
  const [source] = id.split('/')
  return { id, environment: NAME, kind: source, goal: question, recipe: { kind: 'file', id } }
}

const isFamilySplit = (split: string): split is FamilySplit => ['train', 'in-domain', 'ood'].includes(split)

/** Nothing is known of a program that the sandbox failed: no reward, but another try. */
const sandboxError = (task: Task, grades: readonly Grade[]) =>
  new RlError(`the sandbox failed at '${task.id}': ${firstReason(grades)}`, {
    code: 'coding.sandbox',
    hint: 'rl doctor tests the sandbox',
  })

const firstReason = (grades: readonly Grade[]) =>
  grades.find(({ passed }) => passed === null)?.result.stderrTail ?? 'no result'

function toldSkipped(loaded: LoadedProblems): readonly CodingProblem[] {
  const line = skippedLine(loaded)
  if (line !== null) process.stderr.write(`${line}\n`)
  return loaded.problems
}

/** The files as named, and the problem files of the folders among them. */
async function problemFiles(paths: readonly string[]): Promise<string[]> {
  const found: string[] = []
  for (const path of paths) {
    const info = await stat(path).catch((cause: Error) => {
      throw new RlError(`cannot read ${path}: ${cause.message}`, {
        code: 'coding.dataset',
        hint: 'environment.data names a problem file or a folder of them',
        cause,
      })
    })
    if (!info.isDirectory()) found.push(path)
    else {
      const names = (await readdir(path)).filter((name) => /\.jsonl?(\.gz)?$/.test(name)).sort()
      found.push(...names.map((name) => join(path, name)))
    }
  }
  return found
}

/** Problems, programs and unit tests of the generated family: what a word-level tokenizer is made from. */
export function familyTexts(): string[] {
  const recipes = (['train', 'in-domain', 'ood'] as const).flatMap((split) =>
    drawRecipes({ split, count: templates().length, maxLevel: 99, seed: 0 }),
  )
  return recipes
    .map(problemOf)
    .flatMap((of) => [observationOf(of), ...of.solutions, ...of.tests.map(writeUnitTest)])
}
