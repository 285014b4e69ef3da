/** What the head knows of the open iterations, and when one may begin or is over. */
import type { Config } from '../../config.ts'
import type { EventData } from '../../events/catalogue.ts'
import type { Books } from '../decider/books.ts'
import { type IterationBook, needOf, rolloutsOver, tallyOf } from '../decider/books.ts'
import { evaluationDue, type TaskCounts } from '../decider/task-counts.ts'

/** What the books do not hold of an open iteration. */
export type Extras = {
  /** Milliseconds since 1970 at which it began, and at which the newest event of it came. */
  readonly sinceMs: number
  /** Answers of the adapter: candidates proposed and refused. */
  proposed: number
  refused: number
  accepted: number
  failedRollouts: number
  /** Steps of all scored rollouts. */
  steps: number
  evaluatedSplits: number
  /** Scored evaluation rollouts, and how many of them are judged. */
  evaluationScored: number
  evaluationJudged: number
  /** The run went on although this iteration had no outcome. */
  excused: boolean
}

export type HeadContext = {
  readonly taskCounts: TaskCounts
  policyVersion: number
  rewardModelVersion: number
  /** Newest iteration that was begun, and newest that is completed. */
  newest: number
  completed: number
  readonly books: Books
  /** By open iteration. */
  readonly extras: Map<number, Extras>
  /** When the run started, ms since 1970; 0 before. */
  startedMs: number
}

export function emptyHeadContext(firstIteration: number): HeadContext {
  return {
    taskCounts: new Map(),
    policyVersion: -1,
    rewardModelVersion: -1,
    newest: firstIteration - 1,
    completed: firstIteration - 1,
    books: new Map(),
    extras: new Map(),
    startedMs: 0,
  }
}

export function newExtras(sinceMs: number): Extras {
  return {
    sinceMs,
    proposed: 0,
    refused: 0,
    accepted: 0,
    failedRollouts: 0,
    steps: 0,
    evaluatedSplits: 0,
    evaluationScored: 0,
    evaluationJudged: 0,
    excused: false,
  }
}

/** Tasks of the iteration for which the adapter owes an answer. */
export function owedAnswers(book: IterationBook, config: Config): number {
  let owed = 0
  for (const group of book.groups.values()) if (needOf(book, group, config) !== null) owed++
  return owed
}

/** Whether an iteration's evaluation is in the log, judged where that is wanted; also where none is due. */
export function evaluationOver(iteration: number, extras: Extras, config: Config): boolean {
  if (!evaluationDue(iteration, config)) return true
  if (extras.evaluatedSplits < config.evaluation.splits.length) return false
  const judged = config.evaluation.judge && config.rewardModel.mode !== 'off'
  return !judged || extras.evaluationJudged === extras.evaluationScored
}

/** Whether everything that the oldest open iteration waits for is in the log. */
export function iterationOver(context: HeadContext, config: Config): boolean {
  const iteration = context.completed + 1
  const extras = context.extras.get(iteration)
  if (!extras) return false
  if (iteration > 0) {
    if (context.policyVersion < iteration || context.rewardModelVersion < iteration) return false
    const book = context.books.get(iteration)
    if (!book || !rolloutsOver(book) || book.undecided > 0) return false
    if (extras.proposed + extras.refused < owedAnswers(book, config)) return false
  }
  return evaluationOver(iteration, extras, config)
}

/** Whether all rollouts of the oldest open iteration are over and not one has an outcome: no learning can come of it. */
export function noOutcomes({ completed, books, extras }: HeadContext): boolean {
  const book = books.get(completed + 1)
  return book !== undefined && rolloutsOver(book) && book.scored === 0 && !extras.get(completed + 1)?.excused
}

/** Whether rollouts are outstanding that belong to an open iteration. */
export function rolloutsOutstanding(context: HeadContext, config: Config): boolean {
  if (context.newest > context.completed && !context.extras.has(context.newest)) return true
  for (const book of context.books.values()) if (!rolloutsOver(book)) return true
  for (const [iteration, extras] of context.extras)
    if (context.policyVersion >= iteration && !evaluationOver(iteration, extras, config)) return true
  return false
}

/**
 * Whether the next iteration may begin. Synchronous: after the one before. With staleness s: when iteration - 1 - s is
 * completed, so that no rollout is played by a policy more than s versions behind, and nothing is being played.
 */
export function mayBegin(context: HeadContext, { run }: Config): boolean {
  const next = context.newest + 1
  if (next > run.iterations || context.completed < next - 1 - run.maxStaleness) return false
  if (context.newest > context.completed) {
    if (context.newest === 0) return false
    const book = context.books.get(context.newest)
    return book !== undefined && rolloutsOver(book)
  }
  return true
}

export function iterationResult(context: HeadContext, iteration: number): EventData<'IterationCompleted'> {
  const book = context.books.get(iteration)
  const extras = context.extras.get(iteration)!
  const accuracy = { successes: 0, n: 0 }
  let candidates = 0
  for (const group of book?.groups.values() ?? []) {
    if (group.purpose === 'candidate') {
      candidates++
      continue
    }
    const { successes, n } = tallyOf(group)
    accuracy.successes += successes
    accuracy.n += n
  }
  const groups = (book?.groups.size ?? 0) - candidates
  return {
    iteration,
    accuracy,
    metrics: {
      tasks: groups,
      candidates,
      accepted: extras.accepted,
      rejected: candidates - extras.accepted,
      proposed: extras.proposed,
      refused: extras.refused,
      failedRollouts: extras.failedRollouts,
      meanSteps: book && book.scored > 0 ? extras.steps / book.scored : 0,
      staleness: book ? iteration - 1 - book.policyVersion : 0,
    },
  }
}
