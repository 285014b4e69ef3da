/**
 * Makes a generated problem harder or easier without a language model. An easier problem avoids what its
 * programs failed at.
 */

import { type Direction, type RewriteRequest, type Rng, rng } from 'rlanything/environments'
import { itemAt } from 'rlanything/kit'
import { blamedStep } from './blame.ts'
import { OPERATIONS, type Operation } from './operations.ts'
import {
  type FamilyRecipe,
  idOf,
  kindAfter,
  levelOf,
  operationOf,
  type Step,
  whyIllTyped,
  whyPoor,
} from './recipe.ts'
import { draw, drawConstant, templates } from './templates.ts'

const MOST_STEPS = 6
const ATTEMPTS = 40

type Rule = (recipe: FamilyRecipe, random: Rng) => FamilyRecipe | null

/**
 * Other constants in the same template. This is neither harder nor easier, and is tried if nothing else is
 * left.
 */
const changeConstants: Rule = (recipe, random) => {
  const steps = recipe.steps.map((step): Step => [step[0], drawConstant(operationOf(step), random)])
  return { ...recipe, steps }
}

const withConstant = (operation: Operation, random: Rng): Step => [
  operation.name,
  drawConstant(operation, random),
]

/** One more operation, anywhere its kinds fit. */
const addClause: Rule = (recipe, random) => {
  const place = random.below(recipe.steps.length + 1)
  const kind = kindAfter(recipe, place)
  const isLast = place === recipe.steps.length
  const fitting = OPERATIONS.filter(({ from, to }) => from === kind && (isLast || to === kind))
  if (fitting.length === 0) return null
  const steps = [...recipe.steps]
  steps.splice(place, 0, withConstant(random.pick(fitting), random))
  return { ...recipe, steps }
}

/** One operation less, if the rest still fits together. */
const dropClause: Rule = (recipe, random) => {
  if (recipe.steps.length < 2) return null
  return withoutStep(recipe, random.below(recipe.steps.length))
}

function withoutStep(recipe: FamilyRecipe, place: number): FamilyRecipe | null {
  const shorter = { ...recipe, steps: recipe.steps.filter((_, i) => i !== place) }
  return whyIllTyped(shorter) === null ? shorter : null
}

/** The result of this problem becomes the input of another one. */
const compose: Rule = (recipe, random) => {
  const kind = kindAfter(recipe)
  const others = templates().filter(({ shape }) => shape === kind)
  if (others.length === 0) return null
  const other = draw(random.pick(others), random)
  return other && { ...recipe, steps: [...recipe.steps, ...other.steps] }
}

/** One operation becomes another of the same kinds. */
const replaceClause: Rule = (recipe, random) => {
  const place = random.below(recipe.steps.length)
  const old = operationOf(itemAt(recipe.steps, place))
  const others = OPERATIONS.filter(
    ({ name, from, to }) => from === old.from && to === old.to && name !== old.name,
  )
  if (others.length === 0) return null
  const steps = recipe.steps.with(place, withConstant(random.pick(others), random))
  return { ...recipe, steps }
}

const RULES: Readonly<Record<Direction, readonly Rule[]>> = {
  harder: [addClause, addClause, compose, replaceClause],
  easier: [dropClause, dropClause, replaceClause],
}

/**
 * Returns a changed problem with a new id that is not held out, or the reason why there is none. A harder
 * problem has a higher level, an easier one a lower level. If the critique tells which operation failed, an
 * easier one drops it. On the lowest level, other constants are the only possible change.
 */
export function rewriteRecipe(
  recipe: FamilyRecipe,
  direction: Direction,
  { taken, critique, seed }: Pick<RewriteRequest, 'taken' | 'critique' | 'seed'>,
  isHeldOut: (candidate: FamilyRecipe) => boolean = () => false,
): FamilyRecipe | string {
  const random = rng(seed)
  const level = levelOf(recipe)
  const isTaken = (candidate: FamilyRecipe) =>
    idOf(candidate) === idOf(recipe) || taken.includes(idOf(candidate)) || isHeldOut(candidate)
  const isGood = (candidate: FamilyRecipe | null): candidate is FamilyRecipe => {
    if (!candidate || candidate.steps.length > MOST_STEPS || isTaken(candidate)) return false
    const change = levelOf(candidate) - level
    return (direction === 'harder' ? change > 0 : change < 0) && whyPoor(candidate) === null
  }
  const blamed = direction === 'easier' ? blamedStep(recipe, critique) : null
  const relieved = blamed === null ? null : withoutStep(recipe, blamed)
  if (isGood(relieved)) return relieved
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const candidate = random.pick(RULES[direction])(recipe, random)
    if (isGood(candidate)) return candidate
  }
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const candidate = changeConstants(recipe, random)
    if (candidate && !isTaken(candidate) && whyPoor(candidate) === null) return candidate
  }
  return `no ${direction} problem was found near ${idOf(recipe)}`
}
