/** Harder and easier tasks, proven by the oracle: it must solve them, in more steps than the parent's, or in fewer. */
import { type Rewrite, type RewriteRequest, seedOf, type Task } from 'rlanything/environments'
import type { Asked, Site } from './site.ts'

/** Proposals that are tried, and how many of those that hold are compared. */
const MOST_TRIED = 16
const MOST_PROVEN = 3
/** A harder task may take so many times the parent's steps, and so many more. */
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
    const [goal] = await asked.goals([variant.recipe])
    const candidate = { ...variant, environment: task.environment, goal }
    const steps = await remaining(candidate, [])
    if (steps === null || steps === 0) continue
    const largest = Math.max(before * STRETCH.factor, before + STRETCH.steps)
    // Of as many steps it may still have more to choose from: whether it is harder is measured by who tries it.
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
