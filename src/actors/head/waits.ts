/** Things that the run waits for, with deadlines. `rl status` shows them if no worker holds the work. */
import type { EvaluationConfig, RunConfig } from '../../config-schema/sections.ts'
import type { Role } from '../../events/envelope.ts'
import { rolloutsOver } from '../decider/books.ts'
import { allTasksThere } from '../decider/task-counts.ts'
import type { Wait } from '../runtime/waits.ts'
import { evaluationOver, type HeadContext } from './iterations.ts'

/** The part of a config that says what a run waits for, and how long. */
type WaitingConfig = { readonly run: RunConfig; readonly evaluation: EvaluationConfig }

/**
 * Lists what the head waits for now, each with its deadline.
 *
 * @param resumedMs when a person resumed the run last (ms since 1970), or 0: no wait is older
 */
export function awaitedBy(
  context: HeadContext,
  { run, evaluation }: WaitingConfig,
  resumedMs = 0,
): readonly Wait[] {
  const { deadlines, iterations } = run
  const waits: Wait[] = []
  function add(waitingFor: string, from: Role, sinceMs: number, seconds: number): void {
    const since = Math.max(sinceMs, resumedMs)
    waits.push({ owner: 'head', waitingFor, from, since, deadline: since + seconds * 1000 })
  }
  if (context.startedMs === 0 || context.completed === iterations) return waits
  if (!allTasksThere(context.taskCounts, evaluation))
    add('the tasks', 'environment', context.startedMs, deadlines.expert.loadTasksSeconds)
  if (context.policyVersion < 0)
    add('policy version 0', 'policy', context.startedMs, deadlines.expert.coldStartSeconds)
  else if (context.rewardModelVersion < 0)
    add('reward model version 0', 'reward-model', context.startedMs, deadlines.expert.coldStartSeconds * 2)
  for (const [iteration, extras] of context.extras) {
    const book = context.books.get(iteration)
    if (book && !rolloutsOver(book)) {
      add(
        `${book.expected - book.ended} of ${book.expected} rollouts of iteration ${iteration}`,
        'environment',
        extras.sinceMs,
        deadlines.rolloutSeconds * 2,
      )
      continue
    }
    const judging = deadlines.rolloutSeconds * 2 + deadlines.scoringSeconds
    if (book && context.policyVersion < iteration)
      add(`policy version ${iteration}`, 'policy', extras.sinceMs, judging + deadlines.trainingSeconds)
    if (book && context.rewardModelVersion < iteration)
      add(
        `reward model version ${iteration}`,
        'reward-model',
        extras.sinceMs,
        judging + deadlines.trainingSeconds,
      )
    const owed = extras.owed - extras.proposed - extras.refused
    if (owed > 0)
      add(
        `${owed} rewritten tasks of iteration ${iteration}`,
        'adapter',
        extras.sinceMs,
        judging + deadlines.expert.rewriteSeconds * owed,
      )
    if (context.policyVersion >= iteration && !evaluationOver(extras))
      add(
        `the evaluation of policy version ${iteration}`,
        'environment',
        extras.sinceMs,
        judging + deadlines.trainingSeconds + deadlines.rolloutSeconds,
      )
  }
  return waits
}
