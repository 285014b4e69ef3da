/** The catalogue of templates, and the tasks that are drawn from it. */
import { type Rng, rng, seedOf } from 'rlanything/environments'
import { type Kind, OPERATIONS, type Operation, SHAPES, type Shape } from './operations.ts'
import { type FamilyRecipe, idOf, levelOf, type Step, templateOf, whyPoor } from './recipe.ts'

/** A shape and operations without constants. */
export type Template = { readonly shape: Shape['kind']; readonly operations: readonly Operation[] }

/** Numbers of chosen templates with two and three operations. All templates of one operation are used. */
const CHOSEN = { 2: 120, 3: 80 } as const
const CATALOGUE_SEED = seedOf(0, 'coding-templates')
/** This share of the templates is kept for the split `ood`. */
const OOD_ONE_IN = 5
const IN_DOMAIN_ONE_IN = 5

let cached: readonly Template[] | null = null

/**
 * Returns every template of the family, easiest first, always the same. Each can be filled to a good problem.
 */
export function templates(): readonly Template[] {
  cached ??= [...chains(1), ...choose(2), ...choose(3)]
  return cached
}

function choose(length: 2 | 3): Template[] {
  const random = rng(seedOf(CATALOGUE_SEED, length))
  const chosen: Template[] = []
  for (const template of random.shuffle(chains(length))) {
    if (chosen.length === CHOSEN[length]) break
    if (draw(template, rng(seedOf(CATALOGUE_SEED, length, chosen.length)))) chosen.push(template)
  }
  return chosen
}

/** Returns all well-typed chains of this number of operations. */
function chains(length: number): Template[] {
  return SHAPES.flatMap(({ kind }) => extend(kind, length).map((operations) => ({ shape: kind, operations })))
}

function extend(kind: Kind, length: number): Operation[][] {
  if (length === 0) return [[]]
  return OPERATIONS.filter(({ from }) => from === kind).flatMap((operation) =>
    extend(operation.to, length - 1).map((rest) => [operation, ...rest]),
  )
}

const ATTEMPTS = 8

/**
 * Draws a good problem of a template, with constants from the generator. Returns null if some attempts found
 * none.
 */
export function draw({ shape, operations }: Template, random: Rng): FamilyRecipe | null {
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const steps = operations.map((operation): Step => [operation.name, drawConstant(operation, random)])
    const recipe: FamilyRecipe = { kind: 'generated', shape, steps }
    if (whyPoor(recipe) === null) return recipe
  }
  return null
}

export function drawConstant({ range }: Operation, random: Rng): number {
  return range ? range[0] + random.below(range[1] - range[0] + 1) : 0
}

/** `train` and `in-domain` share templates and no problem. The templates of `ood` are in neither. */
export type FamilySplit = 'train' | 'in-domain' | 'ood'

const splitOf = (recipe: FamilyRecipe): FamilySplit => {
  const [ofTemplate] = seedOf(CATALOGUE_SEED, 'template', templateOf(recipe))
  if (ofTemplate % OOD_ONE_IN === 0) return 'ood'
  const [ofProblem] = seedOf(CATALOGUE_SEED, 'problem', idOf(recipe))
  return ofProblem % IN_DOMAIN_ONE_IN === 0 ? 'in-domain' : 'train'
}

export type DrawOptions = {
  readonly split: FamilySplit
  readonly count: number
  /** Problems of a higher level (sum of the levels of their operations) are left out. */
  readonly maxLevel: number
  readonly seed: number
  /** Problems to leave out, e.g. because one of another split computes the same. */
  readonly without?: (recipe: FamilyRecipe) => boolean
}

const MOST_ROUNDS = 30

/**
 * Draws different problems of a split, round after round through all templates. Returns fewer if the family
 * has no more.
 */
export function drawRecipes(options: DrawOptions): FamilyRecipe[] {
  const { split, count, maxLevel, seed, without = () => false } = options
  const found = new Map<string, FamilyRecipe>()
  for (let round = 0; round < MOST_ROUNDS && found.size < count; round++) {
    const random = rng(seedOf(seed, 'coding-problems', split, round))
    for (const template of random.shuffle(templates())) {
      if (found.size === count) break
      if (template.operations.reduce((sum, { level }) => sum + level, 0) > maxLevel) continue
      const recipe = draw(template, random)
      if (recipe && splitOf(recipe) === split && !without(recipe)) found.set(idOf(recipe), recipe)
    }
  }
  return [...found.values()].sort((a, b) => levelOf(a) - levelOf(b))
}
