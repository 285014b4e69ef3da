import type { Serve } from '../../events/bus.ts'
import type { OpenedModel } from '../learner/ports.ts'
import type { ActReply, ActRequest } from '../rollout/act.ts'

/** A policy that a provider opens: a learner with its acting. */
export type OpenedPolicy = OpenedModel & {
  /** Returns a reply for each request, in their order. */
  readonly act: (requests: readonly ActRequest[], signal: AbortSignal) => Promise<ActReply[]>
  /** Further calls that its worker answers, by their names. */
  readonly services?: Readonly<Record<string, Serve>>
}
