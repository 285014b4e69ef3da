/** Success by kind of task, which a language model that rewrites is told (EnvGen, arXiv 2403.12014). */
import type { LogClient } from '../../events/log-client.ts'
import { type openTaskBook, readIteration } from '../rollout/log-queries.ts'

/**
 * Resolves to the successes of each kind of task in the iteration before, the weakest kind first. The iteration is over, so the text
 * does not depend on when it is asked for. Resolves to null if nothing was played then.
 */
export async function successByKind(
  log: LogClient,
  tasks: ReturnType<typeof openTaskBook>,
  iteration: number,
): Promise<string | null> {
  const before = iteration - 1
  if (before < 1) return null
  const { TrajectoryCompleted: played } = await readIteration(log, before, ['TrajectoryCompleted'])
  const kinds = new Map<string, { successes: number; n: number }>()
  for (const { iteration: own, purpose, outcome, task } of played) {
    if (own !== before || purpose === 'evaluation' || outcome.kind !== 'scored') continue
    const { kind } = await tasks.find(task)
    const tally = kinds.get(kind) ?? { successes: 0, n: 0 }
    tally.n++
    if (outcome.success) tally.successes++
    kinds.set(kind, tally)
  }
  const rate = ({ successes, n }: { successes: number; n: number }) => successes / n
  const sorted = [...kinds].sort(([a, x], [b, y]) => rate(x) - rate(y) || (a < b ? -1 : 1))
  return sorted.length === 0
    ? null
    : sorted.map(([kind, { successes, n }]) => `${kind} ${successes} of ${n}`).join(', ')
}
