/** Outputs of a decider: events to append, and jobs for its worker. */
import type { NewEvent } from '../../events/catalogue.ts'
import type { Job } from './jobs.ts'

export type Output =
  | { readonly type: 'event'; readonly event: NewEvent }
  | { readonly type: 'job'; readonly job: Job }
