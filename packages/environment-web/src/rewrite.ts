/**
 * Harder and easier tasks, proven by the oracle. It must solve them, in more or fewer steps than the parent.
 */

import { type Rewrite, type RewriteRequest, seedOf, type Task } from 'rlanything/environments'
import { itemAt } from 'rlanything/kit'
import type { Asked, Site } from './site.ts'

/** Most proposals that are tried, and most valid ones that are compared. */
const MOST_TRIED = 16
const MOST_PROVEN = 3
/** A harder task may take this many times the parent's steps, and this many more. */
const STRETCH = { factor: 2, steps: 2 }

export async function rewriteTask({
  site,
  asked,
  remaining,
  request,
}: {
  readonly site: Site
  readonly asked: Asked
  readonly remaining: (task: Task, actions: readonly string[]) => Promise<number | null>
  readonly request: RewriteRequest
}): Promise<Rewrite> {
  const { task, direction, taken, seed } = request
  const before = await remaining(task, [])
  if (before === null) return { refused: 'the oracle does not solve the parent' }
  const ids = new Set([...taken, task.id])
  const proposals = (await site.variants(task, direction, seedOf(seed, 'variants'), asked)).filter(
    ({ id }) => !ids.has(id),
  )
  const proven: { readonly task: Task; readonly steps: number }[] = []
  let tried = 0
  for (const variant of proposals) {
    if (proven.length >= MOST_PROVEN || tried >= MOST_TRIED) break
    tried++
    const goal = itemAt(await asked.goals([variant.recipe]), 0)
    const candidate = { ...variant, environment: task.environment, goal }
    const steps = await remaining(candidate, [])
    if (steps === null || steps === 0) continue
    const largest = Math.max(before * STRETCH.factor, before + STRETCH.steps)
    // With the same number of steps there may still be more to choose from. Rollouts measure whether it is
    // harder.
    const fits = direction === 'harder' ? steps >= before && steps <= largest : steps <= before
    if (fits) proven.push({ task: candidate, steps })
  }
  if (proven.length === 0)
    return { refused: `none of ${tried} changed tasks is ${direction} than ${before} steps` }
  const best = proven.reduce((one, other) =>
    Math.abs(other.steps - before) > Math.abs(one.steps - before) ? other : one,
  )
  return { task: best.task }
}
