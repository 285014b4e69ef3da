/** A session elsewhere: it has a state and an end. A bridge makes one for each rollout. */
import type { ToolSpec } from '../../models/port.ts'

/** View of a session after its begin or after an action. */
export type Shown = {
  readonly observation: string
  /** Admissible actions. Empty if actions are texts. */
  readonly admissible: readonly string[]
  readonly reward: number
  readonly done: boolean
  /** True if the action neither did nor answered anything, e.g. if it was no action at all. */
  readonly void?: boolean
  /** Whether a call of a tool failed. Absent if the session cannot tell. */
  readonly failed?: boolean
  /** Files that the observation names by their digests. */
  readonly files?: readonly Uint8Array[]
}

/**
 * Calls come one at a time. An error with code `rollout.infra` is a fault of the infrastructure. Any other
 * error is a fault of the environment.
 */
export interface Session {
  /** Tools that a model may call in it. Absent if it has none. */
  readonly tools?: readonly ToolSpec[]
  begin(): Promise<Shown>
  act(action: string): Promise<Shown>
  /** Resolves to the reward of an episode that came to its limit of steps. Absent if it gets none. */
  atLimit?(): Promise<number>
  /** Ends the session, in the middle of a call too. Never rejects. */
  close(): Promise<void>
}
