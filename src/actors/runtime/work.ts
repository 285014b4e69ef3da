/** Work that is handed out through queues: which events ask for it, and which natural key in the log means that it is done. */
import type { EventType, LoggedEvent } from '../../events/catalogue.ts'
import type { Role } from '../../events/envelope.ts'
import { subjectsOf } from '../../events/subjects.ts'

export type WorkKind = {
  /** Events of this type ask for work. */
  readonly type: EventType
  /** Natural key of the event whose presence in the log means that the work is done. */
  readonly done: (event: LoggedEvent) => string
}

/** Rollouts to play, for environment workers. */
export const ROLLOUT_WORK: WorkKind = {
  type: 'RolloutRequested',
  done(event) {
    if (event.type !== 'RolloutRequested') throw new TypeError(`${event.type} asks for no rollout`)
    return `Rollout/${event.data.rollout}`
  },
}

type Queue = { readonly name: string; readonly subject: string }

/** The queue of the events of a type. */
export function eventQueue(run: string, type: EventType): Queue {
  return { name: `rl-${run}-${type}`, subject: subjectsOf(run).evt(type) }
}

/** The queue of the jobs that a role's decider shares among workers. */
export function jobQueue(run: string, role: Role): Queue {
  return { name: `rl-${run}-work-${role}`, subject: subjectsOf(run).work(role) }
}
