/** Pages of a folder as tasks: a page and a seed. A fifth of the pages is kept for `ood`, other seeds of the rest for `in-domain`. */

import { readFileSync } from 'node:fs'
import { rng, seedOf, type Task } from 'rlanything/environments'
import { firstIssue, itemAt, RlError, safeParse } from 'rlanything/kit'
import { z } from 'zod'
import type { Site, Variant } from '../site.ts'
import { AGAIN } from './again.ts'
import { addressOf, openFolder } from './folder.ts'

const recipeSchema = z.strictObject({
  // A name within its folder, in any form of file names.
  page: z
    .string()
    .min(1)
    .max(255)
    .regex(/^[^./\\\0][^/\\\0]*$/u),
  seed: z.int().nonnegative(),
  variables: z.record(z.string().regex(/^[A-Z_]{1,40}$/), z.int().min(0).max(1_000)).optional(),
})

type Recipe = z.infer<typeof recipeSchema>

export type FolderOptions = {
  readonly folder: string
  readonly seed: number
  readonly counts: Readonly<Record<'train' | 'in-domain' | 'ood', number>>
  /** Default `table`: pages that are known to leave nothing behind are started again, others loaded. */
  readonly loading?: Loading
}

export type Loading = 'table' | 'fresh' | 'again'

const ORACLES = ['adapter', 'basic', 'widgets', 'texts', 'mail', 'shapes']
/** Size of every page with the common form. */
const SCREEN = { width: 160, height: 210 }
const OOD_SHARE = 0.2
const SEEDS_TRIED = 12

export function folderSite({ folder, seed, counts, loading = 'table' }: FolderOptions): Site {
  const { pages, serve } = openFolder(folder)
  const unseen = new Set(
    rng(seedOf(seed, 'unseen pages'))
      .shuffle(pages)
      .slice(0, Math.round(pages.length * OOD_SHARE)),
  )
  return {
    screen: SCREEN,
    scripts: ORACLES.map((name) => readFileSync(new URL(`./${name}.js`, import.meta.url), 'utf8')),
    serve,
    start(recipe) {
      const { page, ...request } = read(recipe)
      return {
        path: addressOf(page),
        fresh: loading === 'fresh' || (loading === 'table' && !AGAIN.has(page)),
        request,
      }
    },
    samples: async (seeds) =>
      pages.map((page) => ({
        name: page,
        variants: Array.from({ length: seeds }, (_, seed) => variantOf({ page, seed })),
      })),
    async tasks(split, asked) {
      const name = split === 'in-domain' || split === 'ood' ? split : 'train'
      const open = pages.filter((page) => unseen.has(page) === (name === 'ood'))
      const first = { train: 0, 'in-domain': 1_000_000, ood: 2_000_000 }[name]
      const variants = Array.from({ length: counts[name] }, (_, i) =>
        variantOf({ page: itemAt(open, i % open.length), seed: first + Math.floor(i / open.length) }),
      )
      const goals = await asked.goals(variants.map(({ recipe }) => recipe))
      return variants.map((variant, i) => ({ ...variant, environment: 'web', goal: itemAt(goals, i) }))
    },
    async variants({ recipe }, direction, given, asked) {
      const random = rng(given)
      const old = read(recipe)
      const sign = direction === 'harder' ? 1 : -1
      const numbers = z
        .array(z.tuple([z.string(), z.int()]))
        .parse(await asked.call(addressOf(old.page), 'variables', null))
      const moved = numbers.flatMap(([name, value]) => {
        const changed = (old.variables?.[name] ?? value) + sign
        return changed < 1 || changed > 1_000
          ? []
          : [{ ...old, variables: { ...old.variables, [name]: changed } }]
      })
      const others = Array.from({ length: SEEDS_TRIED }, () => ({ ...old, seed: random.below(1_000_000) }))
      return [...random.shuffle(moved).slice(0, 4), ...others].map(variantOf)
    },
  }
}

/** @throws RlError `web.recipe` */
function read(recipe: Task['recipe']): Recipe {
  const parsed = safeParse(recipeSchema, recipe)
  if (parsed.success) return parsed.data
  throw new RlError(`this is no recipe of a folder's page: ${firstIssue(parsed.error).message}`, {
    code: 'web.recipe',
  })
}

function variantOf({ page, seed, variables }: Recipe): Variant {
  const told = Object.entries(variables ?? {}).map(([name, value]) => `-${name}=${value}`)
  return {
    id: `${page}-${seed}${told.join('')}`,
    kind: page,
    recipe: { page, seed, ...(variables ? { variables } : {}) },
  }
}
