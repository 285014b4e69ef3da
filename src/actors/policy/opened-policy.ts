import type { OpenedModel } from '../learner/ports.ts'
import type { ActReply, ActRequest } from '../rollout/act.ts'

/** What a provider opens for the policy: a learner, and how it acts. */
export type OpenedPolicy = OpenedModel & {
  /** Returns a reply for each request, in their order. */
  readonly act: (requests: readonly ActRequest[], signal: AbortSignal) => Promise<ActReply[]>
}
