/** The actions by which a machine keeps the books of its open iterations. */
import type { EventType } from '../../events/catalogue.ts'
import {
  enterDecision,
  enterFailure,
  enterJudged,
  enterPlan,
  enterTrajectory,
  type IterationBook,
  openBook,
} from './books.ts'
import { fold } from './fold.ts'

/** Open iterations by number; evaluations (iteration 0 is nothing else) have no book. */
export type Books = Map<number, IterationBook>
type WithBooks = { readonly books: Books }

/** The named actions, for `setup`. A book that is closed already takes no more entries. */
export function bookkeeping<Context extends WithBooks>() {
  return {
    openIteration: fold('IterationStarted', ({ books }: Context, started) => {
      if (started.iteration > 0) books.set(started.iteration, openBook(started))
      return undefined
    }),
    enterPlan: fold('IterationPlanned', ({ books }: Context, plan) => {
      const book = books.get(plan.iteration)
      if (book) enterPlan(book, plan)
      return undefined
    }),
    enterTrajectory: fold('TrajectoryCompleted', ({ books }: Context, trajectory) => {
      const book = trajectory.purpose === 'evaluation' ? undefined : books.get(trajectory.iteration)
      if (book) enterTrajectory(book, trajectory)
      return undefined
    }),
    enterFailure: fold('RolloutFailed', ({ books }: Context, failure) => {
      const book = failure.purpose === 'evaluation' ? undefined : books.get(failure.iteration)
      if (book) enterFailure(book, failure)
      return undefined
    }),
    enterJudged: fold('TrajectoryJudged', ({ books }: Context, { purpose, iteration, slot }) => {
      const book = purpose === 'evaluation' ? undefined : books.get(iteration)
      if (book) enterJudged(book, slot)
      return undefined
    }),
    enterAccepted: fold('TaskAccepted', ({ books }: Context, { iteration, slot }) => {
      const book = books.get(iteration)
      if (book) enterDecision(book, slot, true)
      return undefined
    }),
    enterRejected: fold('TaskRejected', ({ books }: Context, { iteration, slot, task }) => {
      const book = task === null ? undefined : books.get(iteration)
      if (book) enterDecision(book, slot, false)
      return undefined
    }),
  }
}

/** The transitions that go with them. */
export const BOOK_ENTRIES = {
  IterationStarted: { actions: 'openIteration' },
  IterationPlanned: { actions: 'enterPlan' },
  TrajectoryCompleted: { actions: 'enterTrajectory' },
  RolloutFailed: { actions: 'enterFailure' },
  TrajectoryJudged: { actions: 'enterJudged' },
  TaskAccepted: { actions: 'enterAccepted' },
  TaskRejected: { actions: 'enterRejected' },
} as const

export const BOOK_EVENTS = Object.keys(BOOK_ENTRIES) as readonly (keyof typeof BOOK_ENTRIES & EventType)[]
