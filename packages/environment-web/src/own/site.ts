/** Our own pages: made by a seeded generator, in six families of which two are never trained on. */

import { readFileSync } from 'node:fs'
import { type Rng, rng, seedOf } from 'rlanything/environments'
import { itemAt } from 'rlanything/kit'
import type { Asked, Site, Variant } from '../site.ts'
import { type Part, partsOf, variantOf } from './recipe.ts'
import { catalogueOf, PATH, type PageType, UNSEEN_FAMILIES } from './types.ts'
import { partVariants } from './variants.ts'
import { ownWords, POOLS } from './words.ts'

export const SPLITS = ['train', 'in-domain', 'ood'] as const

const FILES = ['frame', 'click', 'forms', 'tables', 'mail', 'shop', 'settings']

export type Difficulty = 'easy' | 'medium' | 'hard'

/** Up to which share of its range a parameter is drawn, and how often a task has how many parts. */
const LEVELS: Readonly<Record<Difficulty, { readonly reach: number; readonly parts: readonly number[] }>> = {
  easy: { reach: 0.4, parts: [0.8, 0.2] },
  medium: { reach: 0.7, parts: [0.5, 0.3, 0.2] },
  hard: { reach: 1, parts: [0.3, 0.3, 0.2, 0.2] },
}

export type OwnOptions = {
  readonly seed: number
  readonly counts: Readonly<Record<(typeof SPLITS)[number], number>>
  readonly difficulty: Difficulty
}

const PAGE =
  '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>page</title></head><body></body></html>'

export function ownScripts(): string[] {
  const pools = `Object.defineProperty(window, '__pools', { value: ${JSON.stringify(POOLS)} })`
  return [pools, ...FILES.map((name) => readFileSync(new URL(`./${name}.js`, import.meta.url), 'utf8'))]
}

export function ownSite(options: OwnOptions): Site {
  let types: Promise<readonly PageType[]> | undefined
  const catalogue = (asked: Asked) => {
    types ??= catalogueOf(asked)
    return types
  }
  return {
    screen: { width: 500, height: 500 },
    scripts: ownScripts(),
    serve: async (path) => (path === PATH ? { body: PAGE, mediaType: 'text/html' } : null),
    start: (recipe) => ({ path: PATH, fresh: false, request: { seed: 1, parts: partsOf(recipe) } }),
    samples: async (seeds, asked) =>
      (await catalogue(asked)).map((type) => ({
        name: type.name,
        variants: Array.from({ length: seeds }, (_, seed) =>
          variantOf([drawPart(type, rng(seedOf(seed, type.name)), options.difficulty, seed)]),
        ),
      })),
    async tasks(split, asked) {
      const variants = generate(await catalogue(asked), split, options)
      const goals = await asked.goals(variants.map(({ recipe }) => recipe))
      return variants.map((variant, i) => ({ ...variant, environment: 'web', goal: itemAt(goals, i) }))
    },
    variants: async (task, direction, seed, asked) =>
      partVariants(await catalogue(asked), task, direction, rng(seed)),
    words: ownWords,
  }
}

/** Returns the tasks of a split. Ids are unique because seeds are. */
function generate(
  types: readonly PageType[],
  split: string,
  { seed, counts, difficulty }: OwnOptions,
): Variant[] {
  const name = SPLITS.find((known) => known === split) ?? 'train'
  const open = types.filter(({ family }) => UNSEEN_FAMILIES.includes(family) === (name === 'ood'))
  return Array.from({ length: counts[name] }, (_, index) => {
    const own = rng(seedOf(seed, 'web', name, index))
    const { parts } = LEVELS[difficulty]
    const length = lengthOf(parts, own.uniform())
    return variantOf(
      Array.from({ length }, (_, part) => {
        // Types take turns, so that all are there alike.
        const type = part === 0 ? itemAt(open, index % open.length) : own.pick(open)
        return drawPart(type, own, difficulty, part === 0 ? index : own.below(1_000_000))
      }),
    )
  })
}

/** Returns the share, counted from 1, in which a draw in [0, 1) falls. The shares sum to 1. */
function lengthOf(shares: readonly number[], draw: number): number {
  let sum = 0
  const at = shares.findIndex((share) => {
    sum += share
    return draw < sum
  })
  return at < 0 ? shares.length : at + 1
}

export function drawPart(type: PageType, random: Rng, difficulty: Difficulty, number: number): Part {
  const { reach } = LEVELS[difficulty]
  const params = Object.fromEntries(
    Object.entries(type.params).map(([name, [least, most]]) => [
      name,
      least + random.below(1 + Math.ceil((most - least) * reach)),
    ]),
  )
  return { type: type.name, seed: number * 4_096 + random.below(4_096), params }
}
