/**
 * Harder and easier tasks of our own pages, in four symbolic ways:
 * - one parameter moves by one
 * - a part is added or left out
 * - the same type gets other seeds
 * - one draw changes
 *
 * Each is only a proposal: the oracle proves it.
 */

import type { Direction, Rng, Task } from 'rlanything/environments'
import { itemAt } from 'rlanything/kit'
import type { Variant } from '../site.ts'
import { MOST_PARTS, type Part, partsOf, variantOf } from './recipe.ts'
import { isUnseen, type PageType, UNSEEN_FAMILIES } from './types.ts'

/** Number of first draws among which one is changed, and the new values. */
const FIRST_DRAWS = 12
const CHANGED = [0.01, 0.5, 0.99]
const SEEDS = 6

export function partVariants(
  types: readonly PageType[],
  task: Task,
  direction: Direction,
  random: Rng,
): Variant[] {
  const parts = partsOf(task.recipe)
  const sign = direction === 'harder' ? 1 : -1
  const ranges = new Map(types.map((type) => [type.name, type]))
  const withPart = (at: number, part: Part) => parts.map((one, i) => (i === at ? part : one))
  const moved = parts.flatMap((part, at) =>
    Object.entries(part.params).flatMap(([name, value]) => {
      const [least, most] = ranges.get(part.type)?.params[name] ?? [value, value]
      const changed = value + sign
      return changed < least || changed > most
        ? []
        : [withPart(at, { ...part, params: { ...part.params, [name]: changed } })]
    }),
  )
  const composed: Part[][] = []
  if (direction === 'easier' && parts.length > 1)
    composed.push(...parts.map((_, at) => parts.filter((_, i) => i !== at)))
  if (direction === 'harder' && parts.length < MOST_PARTS) {
    const unseen = isUnseen(types, task)
    const open = types.filter(({ family }) => UNSEEN_FAMILIES.includes(family) === unseen)
    const type = random.pick(open)
    const least = Object.fromEntries(Object.entries(type.params).map(([name, [value]]) => [name, value]))
    composed.push([...parts, { type: type.name, seed: random.below(2 ** 30), params: least }])
  }
  const at = random.below(parts.length)
  const part = itemAt(parts, at)
  const seeds = Array.from({ length: SEEDS }, () => withPart(at, { ...part, seed: random.below(2 ** 30) }))
  const drawn = Array.from({ length: SEEDS }, () => {
    const draws = { ...part.draws, [random.below(FIRST_DRAWS)]: random.pick(CHANGED) }
    return withPart(at, { ...part, draws })
  })
  return [...random.shuffle([...moved, ...composed]), ...random.shuffle([...seeds, ...drawn])].map(variantOf)
}
