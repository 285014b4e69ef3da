/**
 * The problems of a run as tasks: their source, the problem of each task, and tests that were added when it
 * was loaded.
 */

import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Rewrite, RewriteRequest, Task } from 'rlanything/environments'
import { inLine, itemAt, RlError, safeParse } from 'rlanything/kit'
import { z } from 'zod'
import { candidateProblem, checkCandidate } from './candidate.ts'
import { loadProblems, skippedLine } from './dataset.ts'
import type { Executor } from './executor.ts'
import { sameFunctionAs } from './family/function.ts'
import { drawTests, type FamilyRecipe, idOf, parseRecipe, problemOf, templateOf } from './family/recipe.ts'
import { rewriteRecipe } from './family/rewrite.ts'
import { drawRecipes, type FamilySplit } from './family/templates.ts'
import type { CodingProblem, TestCase } from './problem.ts'
import { furtherTests, type Strength } from './strengthen.ts'

const NAME = 'coding'

export type CodingSource = GeneratedSource | FileSource

type GeneratedSource = {
  readonly kind: 'generated'
  readonly seed: number
  /** Number of problems of each split. */
  readonly counts: Readonly<Record<FamilySplit, number>>
  /** Problems of a higher level are left out: 2 easy, 4 medium, 9 all. */
  readonly maxLevel: number
}

/** Problem files, or folders of them. A problem without a split belongs to `train`. */
type FileSource = {
  readonly kind: 'files'
  readonly paths: readonly string[]
  readonly tests?: number
  readonly seed?: number
}

/** Problems get further tests if more than this share of the mutants of their solution pass all tests. */
export type Strengthening = { readonly most: number; readonly seed: number }

export type CodingTasks = {
  readonly tasks: (split: string) => Promise<readonly Task[]>
  readonly problem: (task: Task) => Promise<CodingProblem>
  /** Rewrites by the rules of the generated family. Refuses other problems. */
  readonly rewrite: (request: RewriteRequest) => Rewrite
}

/** @param executor for problems that are to get further tests */
export function codingTasks(
  source: CodingSource,
  executor: () => Promise<Executor>,
  strengthen?: Strengthening,
): CodingTasks {
  let loaded: Promise<readonly CodingProblem[]> | null = null
  let heldOut: ((recipe: FamilyRecipe) => boolean) | null = null

  function load(): Promise<readonly CodingProblem[]> {
    loaded ??= source.kind === 'files' ? loadFiles(source) : Promise.resolve([])
    return loaded
  }

  async function tasks(split: string): Promise<readonly Task[]> {
    if (source.kind === 'files')
      return strong((await load()).filter((problem) => (problem.split ?? 'train') === split).map(fileTask))
    if (!isFamilySplit(split))
      throw new RlError(`generated problems have no split '${split}'`, {
        code: 'coding.split',
        hint: 'there are train, in-domain and ood',
      })
    return strong(familyRecipes(source, split).map(familyTask))
  }

  /** Returns the tasks. A task with weak tests gets further ones in its recipe. */
  async function strong(plain: readonly Task[]): Promise<readonly Task[]> {
    if (!strengthen) return plain
    const { most, seed } = strengthen
    const on = await executor()
    const strengths = await Promise.all(
      plain.map(async (task) => furtherTests(on, await problem(task), most, seed, inputsFor(task))),
    )
    process.stderr.write(`${strengthenedLine(strengths, most)}\n`)
    return plain.map((task, i) => {
      const further = itemAt(strengths, i).tests
      return further.length === 0 ? task : { ...task, recipe: { ...task.recipe, further: [...further] } }
    })
  }

  async function problem(task: Task): Promise<CodingProblem> {
    const found = await problemAsWritten(task)
    const further = furtherOf(task)
    return further.length === 0 ? found : { ...found, tests: [...found.tests, ...further] }
  }

  async function problemAsWritten(task: Task): Promise<CodingProblem> {
    const { recipe } = task
    if (recipe.kind === 'generated') return problemOf(familyRecipe(task))
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

  /**
   * Whether a problem of the family computes the same as one of the split `ood`. Training must not meet it.
   */
  function isHeldOut(recipe: FamilyRecipe): boolean {
    if (source.kind !== 'generated') return false
    heldOut ??= sameFunctionAs(familyRecipes(source, 'ood'))
    return heldOut(recipe)
  }

  return {
    tasks,
    problem,
    rewrite(request) {
      const { task, direction } = request
      if (task.recipe.kind !== 'generated')
        return { refused: 'only generated problems can be rewritten without a language model' }
      const rewritten = rewriteRecipe(familyRecipe(task), direction, request, isHeldOut)
      return typeof rewritten === 'string' ? { refused: rewritten } : { task: familyTask(rewritten) }
    },
  }
}

function familyTask(recipe: FamilyRecipe): Task {
  const { id, question } = problemOf(recipe)
  return { id, environment: NAME, kind: templateOf(recipe), goal: question, recipe }
}

function fileTask({ id, question }: CodingProblem): Task {
  const [source = id] = id.split('/')
  return { id, environment: NAME, kind: source, goal: question, recipe: { kind: 'file', id } }
}

/** The recipe of a generated problem, without the tests that were added to it. */
export function familyRecipe({ recipe: { further: _, ...recipe } }: Task): FamilyRecipe {
  return parseRecipe(recipe)
}

const FURTHER = z.array(z.strictObject({ input: z.string(), output: z.string() })).max(64)

/** Tests that were added to the problem's own. */
function furtherOf({ id, recipe: { further = [] } }: Task): readonly TestCase[] {
  const parsed = safeParse(FURTHER, further)
  if (parsed.success) return parsed.data
  throw new RlError(`the task '${id}' has further tests in a wrong form`, { code: 'coding.recipe' })
}

const isFamilySplit = (split: string): split is FamilySplit => ['train', 'in-domain', 'ood'].includes(split)

/**
 * Returns the problems of a split. No problem of `ood` computes the same as one of `train`. Such problems are
 * left out, and their number is told.
 */
function familyRecipes({ seed, counts, maxLevel }: GeneratedSource, split: FamilySplit): FamilyRecipe[] {
  const recipes = (one: FamilySplit, without?: (recipe: FamilyRecipe) => boolean) =>
    drawRecipes({ split: one, count: counts[one], maxLevel, seed, without })
  if (split !== 'ood') return recipes(split)
  const isTrained = sameFunctionAs(recipes('train'))
  const shared = new Set<string>()
  const drawn = recipes('ood', (recipe) => {
    if (!isTrained(recipe)) return false
    shared.add(idOf(recipe))
    return true
  })
  if (shared.size > 0)
    process.stderr.write(
      `ood: ${shared.size} problems were left out that compute what a training problem does; ${drawn.length} are held out\n`,
    )
  return drawn
}

/** Returns inputs of a generated problem, which can be drawn. Returns undefined for a problem of a file. */
function inputsFor(task: Task): readonly string[] | undefined {
  if (task.recipe.kind !== 'generated') return undefined
  return drawTests(familyRecipe(task), FURTHER_INPUTS).map(({ input }) => input)
}
const FURTHER_INPUTS = 64

function strengthenedLine(strengths: readonly Strength[], most: number): string {
  const weak = strengths.filter(({ survivors, mutants }) => survivors > most * mutants)
  const tests = weak.reduce((sum, one) => sum + one.tests.length, 0)
  const still = weak.filter(({ left, mutants }) => left > most * mutants).length
  return `weak tests: ${weak.length} of ${strengths.length} problems let more than ${most} of their mutants pass; they got ${tests} further tests, ${still} of them still do`
}

async function loadFiles({ paths, tests, seed }: FileSource): Promise<readonly CodingProblem[]> {
  const { problems, skipped } = await loadProblems(await problemFiles(paths), { tests, seed })
  const line = skippedLine(skipped, problems.length)
  if (line !== null) process.stderr.write(`${inLine(line)}\n`)
  return problems
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
