/** Work that is handed out through queues: which events ask for it, and which natural key in the log means that it is done. */
import type { EventType, LoggedEvent } from '../events/catalogue.ts'
import { subjectsOf } from '../events/subjects.ts'

export type WorkKind = {
  /** Events of this type ask for work. */
  readonly type: EventType
  /** Natural key of the event whose presence in the log means that the work is done. */
  readonly done: (event: LoggedEvent) => string
}

/** Rollouts to play, for environment workers. */
export const ROLLOUT_WORK: WorkKind = {
  type: 'RolloutRequested',
  done: (event) => (event.type === 'RolloutRequested' ? `Rollout/${event.data.rollout}` : never(event)),
}

/** Trajectories to judge, for reward-model workers: all StepScored of one are appended together, the last step's with them. */
export const JUDGING_WORK: WorkKind = {
  type: 'TrajectoryCompleted',
  done: (event) =>
    event.type === 'TrajectoryCompleted'
      ? `StepScored/${event.data.rollout}/${Math.max(0, event.data.steps - 1)}`
      : never(event),
}

function never(event: LoggedEvent): never {
  throw new TypeError(`${event.type} asks for no such work`)
}

/** Stream name and subject of a queue. */
export function queueOf(run: string, type: EventType): { readonly name: string; readonly subject: string } {
  return { name: `rl-${run}-${type}`, subject: subjectsOf(run).evt(type) }
}
