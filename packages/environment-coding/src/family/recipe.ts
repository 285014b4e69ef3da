/** A generated problem as a recipe: a shape of input and the operations on it. Everything else follows from it. */

import { rng, seedOf } from 'rlanything/environments'
import { firstIssue, RlError, safeParse } from 'rlanything/kit'
import { z } from 'zod'
import { TOKENS } from '../compare.ts'
import { type CodingProblem, limitsOf, STDIO, type TestCase } from '../problem.ts'
import {
  type Kind,
  type Operation,
  operationNamed,
  printCode,
  printed,
  SHAPES,
  type Shape,
  type Value,
} from './operations.ts'

/** One operation with its constant, which is 0 if it has none. */
export type Step = readonly [operation: string, constant: number]

export type FamilyRecipe = {
  readonly kind: 'generated'
  readonly shape: Shape['kind']
  readonly steps: readonly Step[]
}

const RECIPE = z.strictObject({
  kind: z.literal('generated'),
  shape: z.enum(['int', 'pair', 'triple', 'list', 'word', 'words']),
  steps: z
    .array(z.tuple([z.string(), z.int().min(-1000).max(1000)]))
    .min(1)
    .max(12),
})

const TEST_COUNT = 8
const EXAMPLE_COUNT = 2
const SECONDS = 2

/** Reads a recipe from an event. Throws if it is none, or if its operations do not fit together. */
export function parseRecipe(data: unknown): FamilyRecipe {
  const parsed = safeParse(RECIPE, data)
  if (!parsed.success) {
    const { path, message } = firstIssue(parsed.error)
    throw damaged(`${path.join('.')}: ${message}`)
  }
  const reason = whyIllTyped(parsed.data)
  if (reason !== null) throw damaged(reason)
  return parsed.data
}

const damaged = (reason: string) =>
  new RlError(`not a recipe of a generated problem: ${reason}`, {
    code: 'coding.recipe',
    hint: 'recipes are made by the environment and travel unchanged',
  })

/** Returns the reason why the operations cannot follow one another, or null. */
export function whyIllTyped({ shape, steps }: FamilyRecipe): string | null {
  let kind: Kind = shape
  for (const [name, constant] of steps) {
    const operation = operationNamed(name)
    if (!operation) return `there is no operation '${name}'`
    if (operation.from !== kind) return `'${name}' cannot follow a value of kind ${kind}`
    const [least, most] = operation.range ?? [0, 0]
    if (constant < least || constant > most)
      return `the constant of '${name}' is ${constant}, not in ${least} to ${most}`
    kind = operation.to
  }
  return null
}

/** Returns the kind of value after all operations, or after the first `count`. */
export function kindAfter({ shape, steps }: FamilyRecipe, count = steps.length): Kind {
  const last = steps[count - 1]
  return last ? operationOf(last).to : shape
}

/** The operation of a step that is known to be right. */
export const operationOf = ([name]: Step): Operation => operationNamed(name) as Operation

/**
 * Returns the result, or null if a step has nothing to work on (the largest of none). Such inputs are not
 * used in tests.
 */
export function evaluate({ steps }: Pick<FamilyRecipe, 'steps'>, input: Value): Value | null {
  let value = input
  for (const step of steps) {
    if (typeof value === 'object' || typeof value === 'string') if (value.length === 0) return null
    value = operationOf(step).apply(value as never, step[1])
  }
  return value
}

const fill = (text: string, constant: number) => text.replaceAll('#', String(constant))

/** Returns the template, which has no constants, e.g. `int.int-plus.int-times`. */
export const templateOf = ({ shape, steps }: FamilyRecipe) =>
  [shape, ...steps.map(([name]) => name)].join('.')

/** Stable, unique, and telling: e.g. `gen/int.int-plus-3.int-times-2`. */
export const idOf = ({ shape, steps }: FamilyRecipe) =>
  `gen/${[shape, ...steps.map((step) => (operationOf(step).range ? `${step[0]}-${step[1]}` : step[0]))].join('.')}`

/** Sum of the operations' levels: 1 is the easiest. */
export const levelOf = ({ steps }: FamilyRecipe) =>
  steps.reduce((sum, step) => sum + operationOf(step).level, 0)

const shapeOf = (kind: Shape['kind']) => SHAPES.find((shape) => shape.kind === kind) as Shape

function questionOf({ shape, steps }: FamilyRecipe): string {
  const phrases = steps.map((step) => fill(operationOf(step).phrase, step[1]))
  return `${[shapeOf(shape).phrase, ...phrases, 'print the result'].join('. ')}.`
}

/** Returns a right program, with one assignment a line. */
function solutionOf(recipe: FamilyRecipe): string {
  const lines = recipe.steps.map((step) => `r = ${fill(operationOf(step).code, step[1])}`)
  return `${[shapeOf(recipe.shape).code, ...lines, printCode(kindAfter(recipe))].join('\n')}\n`
}

const MOST_DRAWS = 400

/**
 * Draws examples and tests with different inputs. The recipe gives the seed. Returns fewer if there are no
 * more.
 */
export function drawTests(recipe: FamilyRecipe, count = TEST_COUNT + EXAMPLE_COUNT): TestCase[] {
  const random = rng(seedOf(0, 'coding-tests', idOf(recipe)))
  const shape = shapeOf(recipe.shape)
  const tests = new Map<string, TestCase>()
  for (let draw = 0; draw < MOST_DRAWS && tests.size < count; draw++) {
    const value = shape.draw(random)
    const result = evaluate(recipe, value)
    if (result === null) continue
    const output = printed(result)
    if (output !== '') tests.set(printed(value), { input: `${printed(value)}\n`, output: `${output}\n` })
  }
  return [...tests.values()]
}

/** Returns the problem of a recipe. */
export function problemOf(recipe: FamilyRecipe): CodingProblem {
  const drawn = drawTests(recipe)
  return {
    id: idOf(recipe),
    question: questionOf(recipe),
    examples: drawn.slice(0, EXAMPLE_COUNT),
    tests: drawn.slice(EXAMPLE_COUNT),
    limits: limitsOf(SECONDS),
    comparator: TOKENS,
    call: STDIO,
    solutions: [solutionOf(recipe)],
    split: null,
  }
}

const LEAST_TESTS = 4

/**
 * Returns the reason why a recipe makes no good problem, or null. It has too few tests, nearly always the
 * same answer, or a step that changes nothing.
 */
export function whyPoor(recipe: FamilyRecipe): string | null {
  const illTyped = whyIllTyped(recipe)
  if (illTyped !== null) return illTyped
  const tests = drawTests(recipe)
  if (tests.length < LEAST_TESTS + EXAMPLE_COUNT) return `only ${tests.length} different tests can be drawn`
  const scored = tests.slice(EXAMPLE_COUNT)
  const answers = scored.map(({ output }) => output)
  const commonest = Math.max(...answers.map((answer) => answers.filter((other) => other === answer).length))
  if (commonest > 0.75 * answers.length) return 'one answer is right for nearly every test'
  if (scored.some(({ output }) => output.length > 60)) return 'an answer is too long'
  for (const [i, step] of recipe.steps.entries()) {
    const { from, to } = operationOf(step)
    if (from !== to) continue
    const without = { ...recipe, steps: recipe.steps.filter((_, j) => j !== i) }
    if (without.steps.length === 0) continue
    if (scored.every((test) => printedFor(without, test) === test.output))
      return `step ${i + 1} changes no answer`
  }
  return null
}

/** Returns the output of a right program for a test's input. It is empty if there is nothing to work on. */
export function printedFor(recipe: FamilyRecipe, { input }: TestCase): string {
  const result = evaluate(recipe, readValue(recipe.shape, input))
  return result === null ? '' : `${printed(result)}\n`
}

/** The value that a program reads from this input. */
export function readValue(shape: Shape['kind'], input: string): Value {
  const text = input.trim()
  if (shape === 'int') return Number(text)
  if (shape === 'word') return text
  return shape === 'words' ? text.split(' ') : text.split(' ').map(Number)
}
