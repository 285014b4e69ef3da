/** Limits the number of episodes that a policy is asked about at a time, if it keeps read tokens in a bounded cache. */
import type { ActReply } from './act.ts'

type Growing = {
  readonly startedMs: number
  readonly actions: readonly string[]
  readonly request: { readonly maxSteps: number }
  /** Tokens so far. */
  readonly segments: { readonly length: () => number }
}

export type CacheRoom = {
  /** Hears of an answer, and by how many tokens its episode grew. */
  readonly told: (reply: ActReply, grownTokens: number) => void
  /** Returns the episodes to ask about next: the oldest, as many as fit as a whole. */
  readonly fitting: <One extends Growing>(live: readonly One[]) => readonly One[]
}

/**
 * Makes the youngest episodes wait. If there were more episodes than the cache holds, each would be forgotten before
 * its next turn and read anew. Each episode is assumed to take half of its remaining steps.
 *
 * @param askers players that share the policy
 */
export function cacheRoom(askers = 1): CacheRoom {
  let cacheTokens: number | undefined
  let grown = 0
  let replies = 0
  return {
    told(reply, grownTokens) {
      cacheTokens = reply.cacheTokens
      grown += grownTokens
      replies++
    },
    fitting(live) {
      if (cacheTokens === undefined) return live
      const oldest = live.toSorted((a, b) => a.startedMs - b.startedMs)
      let room = cacheTokens / askers
      const most = oldest.findIndex(({ segments, actions, request }) => {
        room -= segments.length() + (grown / replies) * (1 + (request.maxSteps - actions.length) / 2)
        return room < 0
      })
      return most < 0 ? oldest : oldest.slice(0, Math.max(1, most))
    },
  }
}
