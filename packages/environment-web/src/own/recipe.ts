/** Tasks of our own pages as data: one to four parts, each a type with its seed and parameters. */

import type { Task } from 'rlanything/environments'
import { firstIssue, itemAt, RlError, safeParse } from 'rlanything/kit'
import { z } from 'zod'
import type { Variant } from '../site.ts'

const partSchema = z.strictObject({
  type: z.string().max(40),
  seed: z.int().nonnegative(),
  params: z.record(z.string().max(40), z.int()),
  /** Values in place of some of its draws, by their number. */
  draws: z.record(z.string().regex(/^\d{1,3}$/), z.number().min(0).lt(1)).optional(),
})

export type Part = z.infer<typeof partSchema>

const recipeSchema = z.strictObject({ parts: z.array(partSchema).min(1).max(4) })

/** Most parts of one task. */
export const MOST_PARTS = 4

/** @throws RlError `web.recipe` */
export function partsOf(recipe: Task['recipe']): readonly Part[] {
  const parsed = safeParse(recipeSchema, recipe)
  if (parsed.success) return parsed.data.parts
  const { path, message } = firstIssue(parsed.error)
  throw new RlError(`this is no recipe of a web task: ${path.join('.')}: ${message}`, {
    code: 'web.recipe',
  })
}

/** `click-tab-17-3.2`: type, seed and parameters of each part. */
export function variantOf(parts: readonly Part[]): Variant {
  const id = parts
    .map(({ type, seed, params, draws = {} }) =>
      [
        type,
        seed,
        Object.values(params).join('.'),
        ...Object.entries(draws).map(([at, value]) => `d${at}=${value}`),
      ].join('-'),
    )
    .join('+')
  const kind = parts.length === 1 ? itemAt(parts, 0).type : `${parts.length}-parts`
  return { id, kind, recipe: { parts: parts.map((part) => ({ ...part })) } }
}
