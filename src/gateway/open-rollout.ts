/** A rollout on its way: offered to agents, played by one, and ended. */
import type { Task } from '../environments/port.ts'
import type { EventData, NewEvent } from '../events/catalogue.ts'
import type { CallRecorder, Outcome } from './trajectory.ts'

/** A rollout that waits for an agent. */
export type Assignment = {
  readonly request: EventData<'RolloutRequested'>
  readonly task: Task
  /** Time limit in ms, from the moment that an agent takes it. */
  readonly deadlineMs: number
  /** Called when an agent takes the rollout. It records that in the log and starts the waiting for the end. */
  readonly claimed: (agent: string) => void
  /** Called when an agent has ended without an outcome, which comes later. Its calls go to the log. */
  readonly held: (calls: readonly NewEvent[], images: readonly Uint8Array[]) => Promise<void>
  /** Time in which a late outcome may come, in ms. Null if none may. */
  readonly outcomeMs: number | null
  /** Appends what somebody says of one call. */
  readonly note: (event: NewEvent) => Promise<void>
  /**
   * Resolves when the events that end the rollout are in the log.
   * @param images files that the events name
   */
  readonly finish: (events: readonly NewEvent[], images: readonly Uint8Array[]) => Promise<void>
}

export type OpenRollout = {
  readonly id: string
  readonly assignment: Assignment
  readonly agent: string
  readonly recorder: CallRecorder
  /** Number of calls that were refused, by kind. */
  readonly refused: Map<string, number>
  /** Calls in progress that were admitted. */
  readonly inFlight: Set<AbortController>
  /** Milliseconds since 1970. */
  readonly deadline: number
}

/** Words of somebody about one call. */
export type Note = { readonly score: number | null; readonly text: string | null }

export type Ending =
  /** The agent has ended, and its outcome comes later. */
  | { readonly kind: 'pending' }
  | { readonly kind: 'outcome'; readonly outcome: Outcome }
  | { readonly kind: 'failed'; readonly cause: EventData<'RolloutFailed'>['cause']; readonly error: string }

/** How a rollout is over for good. */
export type FinalEnding = Exclude<Ending, { readonly kind: 'pending' }>
