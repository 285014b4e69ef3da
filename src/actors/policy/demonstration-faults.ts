/** Tasks of a user's that cannot be demonstrated: each costs its own demonstrations, and not the cold start. */
import type { Task } from '../../environments/port.ts'
import { RlError } from '../../errors.ts'
import { isSettingFault } from '../../user-code.ts'
import type { TellFault } from '../runtime/tell-fault.ts'

export type DemonstrationFaults = {
  /** Whether the task gave no answer in time before: it is not waited for again. */
  readonly isHung: (task: Task) => boolean
  /** Counts a demonstration that was played to its end. */
  readonly played: () => void
  /**
   * Counts a failed demonstration and tells it.
   *
   * @throws the error if no task's code caused it, or if most demonstrations fail
   */
  readonly failed: (task: Task, error: unknown) => Promise<void>
  /** Returns the number of demonstrations that failed, including those of hanging tasks. */
  readonly count: () => number
  /** Returns the first fault, or null if there is none. */
  readonly first: () => RlError | null
}

/** Number of failures below which their share does not count. */
const FEW = 8

export function demonstrationFaults(tell: TellFault): DemonstrationFaults {
  const hung = new Set<string>()
  let ended = 0
  let count = 0
  let first: RlError | null = null
  return {
    isHung({ id }) {
      if (hung.has(id)) count++
      return hung.has(id)
    },
    played() {
      ended++
    },
    async failed({ id }, error) {
      if (!isSettingFault(error)) throw error
      first ??= error
      count++
      if (error.fault === 'late') hung.add(id)
      await tell(error)
      if (count < FEW || count <= ended) return
      throw new RlError(`${count} of ${count + ended} demonstrations failed, the first: ${first.message}`, {
        code: first.code,
        hint: first.hint,
        cause: first,
      })
    },
    count: () => count,
    first: () => first,
  }
}
