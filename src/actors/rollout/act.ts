/**
 * Request of an environment worker to a policy worker (`rl.v1.<run>.call.policy.act`): the next action of many episodes
 * at once.
 */
import type { ImageRef, ToolSpec } from '../../models/port.ts'
import type { Seed } from '../../random.ts'

export type ActRequest = {
  readonly rollout: string
  /** Id of the task, whose recipe is in the log. */
  readonly task: string
  readonly kind: string
  readonly goal: string
  /** [actions + 1] */
  readonly observations: readonly string[]
  readonly actions: readonly string[]
  /** [actions + 1]: the screens so far, as blobs of the run. Absent if nobody looks. */
  readonly frames?: readonly ImageRef[]
  /** Actions that are allowed now. Empty if the environment takes free text (a program). */
  readonly admissible: readonly string[]
  /** Tools of the episode. Absent if those of the setting count, or if there are none. */
  readonly tools?: readonly ToolSpec[]
  /** Number of tokens of this episode that the asker has already. The reply holds only later tokens. */
  readonly packedTokens: number
  readonly policyVersion: number
  readonly seed: Seed
  readonly evaluation: boolean
  /** Words for the model that stay out of the tokens that are kept. Absent for none. */
  readonly hint?: string
}

/** Tokens of one step and the action that they mean. Columns are as in TrajectoryCompleted (little-endian). */
export type ActReply = {
  readonly action: string
  /** Why the answer could not be read and a default was taken, else null. */
  readonly invalid: string | null
  /** False if the context is full: the episode ends here without an action. */
  readonly fits: boolean
  /**
   * A fault of the infrastructure instead of an answer. The rollout fails and is tried again, whatever the other fields
   * hold.
   */
  readonly fault?: string
  /** Set if the setting's own code caused the fault: the task fails, and is not tried again. */
  readonly ofSetting?: true
  /** True if this step's tokens continue the episode's one packed sequence. Else they are a segment of their own. */
  readonly continues: boolean
  /**
   * New prompt tokens followed by the generated ones. Each token has its mask, log-prob and allowed tokens. Null if
   * token ids are unknown.
   */
  readonly tokens: PackedTokens | null
  /** Number of tokens of all episodes that the policy keeps between their turns. Absent if there is no such bound. */
  readonly cacheTokens?: number
  /** Mean entropy of the step's sampled tokens. Absent unless the config asks for it. */
  readonly entropy?: number
  /** Log-prob of the step's sampled tokens under version 0. Absent unless the config asks for it. */
  readonly baseLogprob?: number
  /** Reasoning that the endpoint returned. Absent for none. */
  readonly reasoning?: string
  /** Digest of the prompt file that was used. Absent if there is none. */
  readonly promptSha256?: string
  readonly usage: {
    readonly promptTokens: number
    readonly cachedTokens: number
    readonly completionTokens: number
  }
}

export type PackedTokens = {
  /** Number of prompt tokens: the first generated token stands at this index. */
  readonly promptLength: number
  readonly tokensI32: Uint8Array
  readonly maskU8: Uint8Array
  readonly logprobsF32: Uint8Array
  /** Int32 [T + 1] and values. Absent if all tokens were allowed. */
  readonly allowedOffsetsI32?: Uint8Array
  readonly allowedI32?: Uint8Array
}

export type Act = (requests: readonly ActRequest[], signal: AbortSignal) => Promise<readonly ActReply[]>

/** A reply without action and tokens. It ends the episode. */
export const EMPTY_REPLY: ActReply = {
  action: '',
  invalid: null,
  fits: false,
  continues: false,
  tokens: null,
  usage: { promptTokens: 0, cachedTokens: 0, completionTokens: 0 },
}
