/**
 * Compares problems by what they compute, whatever their words. Two problems count as the same function if
 * they agree on INPUTS inputs.
 */
import { rng, seedOf } from 'rlanything/environments'
import { printed, SHAPES, type Shape } from './operations.ts'
import { evaluate, type FamilyRecipe, readValue } from './recipe.ts'

const INPUTS = 300

/** Inputs of a shape as texts, always the same. */
const inputsOf = new Map<Shape['kind'], readonly string[]>(
  SHAPES.map(({ kind, draw }) => {
    const random = rng(seedOf(0, 'coding-function', kind))
    return [kind, Array.from({ length: INPUTS }, () => printed(draw(random)))]
  }),
)

/** Tests for each shape whether a program of that shape reads the input. */
const READS: Readonly<Record<Shape['kind'], RegExp>> = {
  int: /^\d+$/,
  pair: /^\d+ \d+$/,
  triple: /^\d+ \d+ \d+$/,
  list: /^\d+( \d+)*$/,
  word: /^[a-z]+$/,
  words: /^[a-z]+( [a-z]+)*$/,
}

/**
 * Returns a test of a problem: whether one of these computes the same, on all inputs of its shape with an
 * answer.
 */
export function sameFunctionAs(others: readonly FamilyRecipe[]): (recipe: FamilyRecipe) => boolean {
  return (recipe) => {
    const cases = (inputsOf.get(recipe.shape) as readonly string[]).flatMap((input): [string, string][] => {
      const answer = answerOf(recipe, input)
      return answer === null ? [] : [[input, answer]]
    })
    return others.some((other) => cases.every(([input, answer]) => answerOf(other, input) === answer))
  }
}

function answerOf(recipe: FamilyRecipe, input: string): string | null {
  if (!READS[recipe.shape].test(input)) return null
  const result = evaluate(recipe, readValue(recipe.shape, input))
  return result === null ? null : printed(result)
}
