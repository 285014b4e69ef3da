/**
 * The coding setting behind the environment port. An episode has one step: the observation is the problem,
 * the action is the program. The outcome is the share of the problem's tests that the program passes.
 *
 * Running a program takes time, and a step of the port does not wait. So a step ends the episode, and
 * `settle` runs the program. Until then the episode has no outcome.
 */

import type {
  Environment,
  Episode,
  Evidence,
  ImmediateEpisode,
  Rewrite,
  RewriteRequest,
  Seed,
  Task,
  Tested,
  Turn,
  Validation,
} from 'rlanything/environments'
import { RlError } from 'rlanything/kit'
import { briefingOf, writtenTask } from './briefing.ts'
import { type ChooseOptions, type ChosenExecutor, chooseExecutor } from './choose.ts'
import type { Executor } from './executor.ts'
import { problemOf, whyPoor } from './family/recipe.ts'
import { drawRecipes, templates } from './family/templates.ts'
import { readUnitTest, writeUnitTest } from './family/unit-test.ts'
import { type Grade, grade, gradeOne, shareOf } from './grade.ts'
import { languageNote, type ParsedTest, parseProgram, parseUnitTest } from './parse.ts'
import type { CodingProblem, TestCase } from './problem.ts'
import type { Language, Limits } from './provider.ts'
import { type CodingSource, codingTasks, familyRecipe, type Strengthening } from './tasks.ts'
import { testForm } from './test-form.ts'

export type CodingOptions = {
  readonly source: CodingSource
  /** Executor of the programs. If absent, one is chosen at the first need and closed with the environment. */
  readonly executor?: Executor
  readonly choose?: ChooseOptions
  /** Limits that replace the problems' own. */
  readonly limits?: Partial<Limits>
  /** Language of the policy's programs. Default: Python. */
  readonly language?: Language
  /** If absent, no problem gets further tests. */
  readonly strengthen?: Strengthening
}

/** One step: the program. A settled episode has the results of the task's tests. */
export interface CodingEpisode extends ImmediateEpisode {
  step(action: string): CodingEpisode
  readonly tested?: Tested
}

export interface CodingEnvironment extends Environment {
  reset(task: Task, options: { readonly seed: Seed; readonly maxSteps: number }): Promise<CodingEpisode>
  /**
   * Runs an ended episode's program. Resolves to the episode with its outcome.
   * @throws RlError if no sandbox could run it
   */
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
  /** The unit test of a task in a reward model's text. */
  readTest(task: Task, text: string): Promise<ParsedTest>
  /**
   * Resolves to grades by [action][test]: every action's program at every test.
   * @throws RlError if no sandbox could run a program
   */
  runTests(task: Task, actions: readonly string[], tests: readonly TestCase[]): Promise<Grade[][]>
  /** Texts of problems, programs and tests of the family, for a tokenizer. */
  words(): readonly string[]
  /** Resolves to the executor of the programs. */
  executor(): Promise<Executor>
  /** Resolves to the name of the executor and the reason for the choice, for people. */
  runtime(): Promise<string>
  close(): Promise<void>
}

/**
 * Returns the environment of programs against tests.
 *
 * @example
 * const counts = { train: 20, 'in-domain': 5, ood: 5 }
 * const environment = codingEnvironment({ source: { kind: 'generated', seed: 1, counts, maxLevel: 2 } })
 */
export function codingEnvironment({
  source,
  executor,
  choose,
  limits,
  language = 'python',
  strengthen,
}: CodingOptions): CodingEnvironment {
  let chosen: Promise<ChosenExecutor> | null = null
  const style = source.kind === 'files' ? 'fenced' : 'plain'

  const open = async (): Promise<Executor> => {
    if (executor) return executor
    return (await choice()).executor
  }

  /** A choice that failed is made again at the next need. */
  function choice(): Promise<ChosenExecutor> {
    chosen ??= chooseExecutor(choose).catch((error) => {
      chosen = null
      throw error
    })
    return chosen
  }

  const { tasks, problem: ownProblem, rewrite } = codingTasks(source, open, strengthen)

  async function problem(task: Task): Promise<CodingProblem> {
    const found = await ownProblem(task)
    const { kind } = found.call
    if (language !== 'python' && (kind === 'json' || kind === 'function'))
      throw new RlError(
        `the tests of '${task.id}' call a function in Python, environment.coding.language is ${language}`,
        {
          code: 'coding.language',
          hint: 'take problems with standard input and output, or python',
        },
      )
    return { ...found, limits: { ...found.limits, ...limits } }
  }

  async function settle(episode: CodingEpisode): Promise<CodingEpisode> {
    if (!isSubmitted(episode)) return episode
    const of = await problem(episode.task)
    const request = { problem: of, program: episode.program, language, tests: of.tests }
    const grades = await gradeOne(await open(), request)
    const value = shareOf(grades)
    if (value === null) throw noVerdict(episode.task, grades)
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
    if (failed) throw noVerdict(task, failed)
    return grades
  }

  async function rootOf({ task, root }: RewriteRequest & Evidence): Promise<string> {
    return root && root.id !== task.id ? observationOf(await problem(root)) : 'the present version'
  }

  async function validate(task: Task): Promise<Validation> {
    if (task.recipe.kind === 'generated') {
      const reason = whyPoor(familyRecipe(task))
      if (reason !== null) return { ok: false, reason }
    }
    const of = await problem(task)
    if (of.tests.length === 0) return { ok: false, reason: 'it has no tests' }
    const [program] = of.solutions
    if (program === undefined) return { ok: true } // its trial is its proof: someone must solve it
    const grades = await gradeOne(await open(), { problem: of, program, tests: of.tests })
    if (shareOf(grades) === null) throw noVerdict(task, grades)
    for (const [test, { passed, result }] of grades.entries())
      if (passed !== true)
        return { ok: false, reason: `its reference solution fails test ${test + 1}: ${result.verdict}` }
    return { ok: true }
  }

  return {
    tasks,
    problem,
    settle,
    rewrite: async (request) => rewrite(request),
    briefing: async (request) => briefingOf(request, await problem(request.task), await rootOf(request)),
    rewriteAs: async (request, answer) => writtenTask(request, answer),
    validate,
    runTests,
    async readTest(task, text) {
      const published = parseUnitTest(text)
      const parsed = 'test' in published || style === 'fenced' ? published : readUnitTest(text)
      return 'test' in parsed ? testForm((await problem(task)).call).read(parsed.test) : parsed
    },
    words: familyTexts,
    executor: open,
    async runtime() {
      if (executor) return `${executor.provider.name}, ${executor.provider.detail}`
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

/** Ends a question if the program does not get its whole input at once. */
const INTERACTIVE_NOTE =
  'The problem is interactive: what you print is read by another program, whose answers you read. Flush your output after each line.'

/** The problem as the policy reads it: the question and its examples. */
function observationOf({ question, examples, call }: CodingProblem): string {
  const shown = examples.map(
    ({ input, output }) => `example input:\n${input.trimEnd()}\nexample output:\n${output.trimEnd()}`,
  )
  return [question, ...shown, ...(call.kind === 'interactive' ? [INTERACTIVE_NOTE] : [])].join('\n')
}

/**
 * Returns the program of an action: its last fenced block of the language. Small models write no fences, so
 * their whole text is the program.
 */
function programOf(action: string, style: 'fenced' | 'plain', language: Language): string {
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
      flaky: grades.flatMap(({ result }, test) => (result.flaky ? [test] : [])),
    },
  }
  return episode
}

/**
 * Makes the error for a failed sandbox or judge. Nothing is known of the program, so it gets no reward but
 * another try.
 */
function noVerdict(task: Task, grades: readonly Grade[]): RlError {
  const open = grades.find(({ passed }) => passed === null)
  const reason = open?.result.stderrTail || 'no result'
  return open?.judgeFailed
    ? new RlError(`there is no verdict on a program for '${task.id}': ${reason}`, {
        code: 'coding.judge',
        hint: 'correct the checker, the interactor or the code of the tests, or leave the problem out',
      })
    : new RlError(`the sandbox failed at '${task.id}': ${reason}`, {
        code: 'coding.sandbox',
        hint: 'rl doctor tests the sandbox',
      })
}

/**
 * Returns texts of problems, programs and unit tests of the generated family. A word-level tokenizer is made
 * from them.
 */
export function familyTexts(): string[] {
  const recipes = (['train', 'in-domain', 'ood'] as const).flatMap((split) =>
    drawRecipes({ split, count: templates().length, maxLevel: 99, seed: 0 }),
  )
  return recipes
    .map(problemOf)
    .flatMap((of) => [observationOf(of), ...of.solutions, ...of.tests.map(writeUnitTest)])
}
