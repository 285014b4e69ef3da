/** Memory of the environment's decider between two events. */
import { type Books, rolloutsOver } from '../decider/books.ts'
import type { TaskCounts } from '../decider/task-counts.ts'
import type { EvaluationTasks, Measurement } from './evaluation.ts'
import type { PlayedGroup, Slots } from './slots.ts'

export type EnvironmentContext = {
  readonly taskCounts: TaskCounts
  readonly slots: Slots
  readonly evaluationTasks: EvaluationTasks
  /** Split of each evaluation slot. */
  readonly splits: Map<string, string>
  /** Iterations that are being played. */
  readonly books: Books
  /** Evaluations that are being played, by iteration and split. */
  readonly measurements: Map<string, Measurement>
  /** The group of rollouts that ended with the last event, until it is settled. */
  played: PlayedGroup | null
  /** The evaluation of a split that ended with the last event, until it is settled. */
  measured: Measurement | null
  /** Iteration with which the run's time ends. */
  last: number | null
}

export function emptyEnvironmentContext(): EnvironmentContext {
  return {
    taskCounts: new Map(),
    slots: new Map(),
    evaluationTasks: new Map(),
    splits: new Map(),
    books: new Map(),
    measurements: new Map(),
    played: null,
    measured: null,
    last: null,
  }
}

/** Returns whether an iteration that is not over plays the candidate of a slot. */
export function playsCandidate({ slots, books }: EnvironmentContext, slot: string): boolean {
  const busy = slots.get(slot)?.busy ?? null
  return busy !== null && books.get(busy)?.groups.get(slot)?.purpose === 'candidate'
}

/** Takes the settled group off the context. Takes its book too if it was the last one. */
export function takePlayed(context: EnvironmentContext): PlayedGroup {
  const played = context.played!
  context.played = null
  const { book } = played
  if (!rolloutsOver(book)) return played
  context.books.delete(book.iteration)
  // Nobody draws what is left of the reserve.
  for (const { slot } of book.reserve) context.slots.get(slot)!.busy = null
  return played
}
