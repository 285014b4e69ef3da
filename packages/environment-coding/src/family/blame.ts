/**
 * Finds the operation of a generated problem that its failed programs left out, as far as their outputs tell.
 */
import type { TestCase } from '../problem.ts'
import { type FamilyRecipe, printedFor, whyIllTyped } from './recipe.ts'

/** A line of a critique, e.g. `3x on input 5 it printed 8, expected 16`. */
const FAULT = /^(?:(\d+)x )?on input (.*) it printed (.*), expected /

/** Returns the step whose omission explains most of the faults, or null if none explains any. */
export function blamedStep(recipe: FamilyRecipe, critique: string): number | null {
  const omissions = recipe.steps.map((_, step) => ({
    without: { ...recipe, steps: recipe.steps.filter((_, other) => other !== step) },
    explained: 0,
  }))
  for (const line of critique.split('\n')) {
    const [, count = '1', input, printed] = FAULT.exec(line) ?? []
    if (input === undefined) continue
    const test: TestCase = { input: `${input}\n`, output: '' }
    for (const one of omissions)
      if (one.without.steps.length > 0 && whyIllTyped(one.without) === null)
        if (printedFor(one.without, test).trim() === printed) one.explained += Number(count)
  }
  const counts = omissions.map(({ explained }) => explained)
  const most = Math.max(...counts)
  return most === 0 ? null : counts.indexOf(most)
}
