/** The head's knowledge of the open iterations. It says when one may begin or is over. */
import type { EvaluationConfig, RunConfig } from '../../config-schema/sections.ts'
import type { EventData } from '../../events/catalogue.ts'
import type { Books } from '../decider/books.ts'
import { bookOf, groupKnown, type NeedConfig, needOf, rolloutsOver, tallyOf } from '../decider/books.ts'
import { evaluationDue, type TaskCounts } from '../decider/task-counts.ts'
import { newClock, type RunClock } from './run-clock.ts'

/** Facts of an open iteration that the books do not hold. */
export type Extras = {
  /** Milliseconds since 1970 at which it began, and at which the newest event of it came. */
  readonly sinceMs: number
  /** Answers that the adapter owes: counted as groups become known, for a fork may have another config from some event on. */
  owed: number
  /** Answers of the adapter: candidates proposed and refused. */
  proposed: number
  refused: number
  accepted: number
  failedRollouts: number
  /** Steps of all scored rollouts. */
  steps: number
  /** Steps that its rollouts played themselves. */
  playedSteps: number
  /**
   * Number of splits by which the iteration is to be measured. Null until its policy version is there.
   * `evaluatedSplits` counts the measured ones.
   */
  splitsDue: number | null
  evaluatedSplits: number
  /** Evaluation rollouts that are to be judged, and how many of them are. */
  evaluationToJudge: number
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
  /** Facts of each open iteration. */
  readonly extras: Map<number, Extras>
  /** Start of the run, ms since 1970. It is 0 before. */
  startedMs: number
  /** Iteration with which the run's time or its steps end. Null until it is known. */
  last: number | null
  /** Steps that the rollouts of completed iterations played themselves. */
  playedSteps: number
  readonly clock: RunClock
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
    last: null,
    playedSteps: 0,
    clock: newClock(),
  }
}

export function newExtras(sinceMs: number): Extras {
  return {
    sinceMs,
    owed: 0,
    proposed: 0,
    refused: 0,
    accepted: 0,
    failedRollouts: 0,
    steps: 0,
    playedSteps: 0,
    splitsDue: null,
    evaluatedSplits: 0,
    evaluationToJudge: 0,
    evaluationJudged: 0,
    excused: false,
  }
}

/** Counts the answer that the adapter owes as soon as all is known of a group, by its rule and the config of the time. */
export function countOwed(
  { books, extras }: HeadContext,
  about: Pick<EventData<'TrajectoryJudged'>, 'purpose' | 'iteration' | 'slot'>,
  judging: boolean,
  config: NeedConfig,
): void {
  const book = bookOf(books, about)
  const group = book?.groups.get(about.slot)
  const open = extras.get(about.iteration)
  if (!book || !group || !open || !groupKnown(group, judging)) return
  if (needOf(book, group, config) !== null) open.owed++
}

/** Returns the number of splits by which an iteration is measured. */
export function splitsDueOf(
  iteration: number,
  run: RunConfig,
  evaluation: EvaluationConfig,
  last: boolean,
): number {
  return evaluationDue(iteration, run, evaluation, last) ? evaluation.splits.length : 0
}

/**
 * Returns true if an iteration's evaluation is in the log, and is judged if the config asks for that. Also returns true
 * if no evaluation is due.
 */
export function evaluationOver({
  splitsDue,
  evaluatedSplits,
  evaluationToJudge,
  evaluationJudged,
}: Extras): boolean {
  return splitsDue !== null && evaluatedSplits >= splitsDue && evaluationJudged === evaluationToJudge
}

/** Whether everything that the oldest open iteration waits for is in the log. */
export function iterationOver(context: HeadContext): boolean {
  const iteration = context.completed + 1
  const extras = context.extras.get(iteration)
  if (!extras) return false
  if (iteration > 0) {
    if (context.policyVersion < iteration || context.rewardModelVersion < iteration) return false
    const book = context.books.get(iteration)
    if (!book || !rolloutsOver(book) || book.undecided > 0) return false
    if (extras.proposed + extras.refused < extras.owed) return false
  }
  return evaluationOver(extras)
}

/** Whether all rollouts of the oldest open iteration are over and not one has an outcome: no learning can come of it. */
export function noOutcomes({ completed, books, extras }: HeadContext): boolean {
  const book = books.get(completed + 1)
  return book !== undefined && rolloutsOver(book) && book.scored === 0 && !extras.get(completed + 1)?.excused
}

/** Whether rollouts are outstanding that belong to an open iteration. */
export function rolloutsOutstanding(context: HeadContext): boolean {
  if (context.newest > context.completed && !context.extras.has(context.newest)) return true
  for (const book of context.books.values()) if (!rolloutsOver(book)) return true
  for (const [iteration, extras] of context.extras)
    if (context.policyVersion >= iteration && !evaluationOver(extras)) return true
  return false
}

/**
 * Returns true if the next iteration may begin. A synchronous run waits for the previous one. With staleness s and a barrier it
 * waits until iteration - 1 - s is completed and nothing is being played. Without a barrier it waits for version
 * iteration - 1 - s of both models alone. So no rollout is played by a policy more than s versions behind, and with a batch of B
 * rollouts no more than (version + s + 1) x B are asked for (AReaL, arXiv 2505.24298, equation 3).
 */
export function mayBegin(context: HeadContext, run: RunConfig): boolean {
  const next = context.newest + 1
  if (context.last !== null || next > run.iterations) return false
  const isOpen = context.newest > context.completed
  // The first measurement is by itself.
  if (isOpen && context.newest === 0) return false
  const newest = context.books.get(context.newest)
  if (run.maxStaleness > 0 && run.barrier === false) {
    const trained = Math.min(context.policyVersion, context.rewardModelVersion)
    return next - 1 - run.maxStaleness <= trained && (!isOpen || newest?.planned === true)
  }
  if (context.completed < next - 1 - run.maxStaleness) return false
  return !isOpen || (newest !== undefined && rolloutsOver(newest))
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
