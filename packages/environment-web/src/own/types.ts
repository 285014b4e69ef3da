/** The types of our own pages, as the pages themselves tell them. */
import type { Task } from 'rlanything/environments'
import { z } from 'zod'
import type { Asked } from '../site.ts'
import { partsOf } from './recipe.ts'

/** The address of all of them. */
export const PATH = '/own'

/** Families that only `ood` has. */
export const UNSEEN_FAMILIES: readonly string[] = ['shop', 'settings']

const typeSchema = z.object({
  name: z.string(),
  family: z.string(),
  params: z.record(z.string(), z.tuple([z.int(), z.int()])),
})

/** A type of page. `params` has the least and most value of each parameter. */
export type PageType = z.infer<typeof typeSchema>

/** @throws ZodError for a page that is not ours */
export async function catalogueOf(asked: Pick<Asked, 'call'>): Promise<readonly PageType[]> {
  return z.array(typeSchema).parse(await asked.call(PATH, 'catalogue', null))
}

/** Whether a task is of a family that training does not see. */
export function isUnseen(types: readonly PageType[], { recipe }: Pick<Task, 'recipe'>): boolean {
  const families = new Map(types.map(({ name, family }) => [name, family]))
  return partsOf(recipe).some(({ type }) => UNSEEN_FAMILIES.includes(families.get(type) ?? ''))
}
