/**
 * Play on a recorded trace (UI-S1, 2509.11543). The policy chooses at each step. If it leaves the trace, the recorded action is taken
 * in the place of its choice, so the next state is that of the trace.
 */
import type { EventData } from '../../events/catalogue.ts'
import { itemAt } from '../../item-at.ts'

export type Tracing = {
  /** Returns the action to take at a step: the choice itself, or the recorded action. A departure is noted. */
  readonly follow: (step: number, chosen: string) => string
  /** Whether the last choice left the trace. */
  readonly leftAt: (step: number) => boolean
  /** Whether the policy left the trace more often than it may. */
  readonly isLost: () => boolean
  /**
   * Returns the outcome of a rollout that left the trace: the share of its steps that the policy chose itself. Returns null
   * if it never left. Then the environment tells.
   *
   * @param steps that were played
   */
  readonly value: (steps: number) => number | null
  readonly told: () => NonNullable<EventData<'TrajectoryCompleted'>['trace']>
}

/**
 * @param recorded the actions of the trace. Beyond them the policy goes on by itself
 * @param patches most departures after which the rollout goes on
 */
export function openTracing(recorded: readonly string[], patches: number): Tracing {
  const left = new Map<number, string>()
  return {
    follow(step, chosen) {
      if (step >= recorded.length) return chosen
      const action = itemAt(recorded, step)
      if (action !== chosen) left.set(step, chosen)
      return action
    },
    leftAt: (step) => left.has(step),
    isLost: () => left.size > patches,
    value: (steps) =>
      left.size === 0 ? null : (Math.min(steps, recorded.length) - left.size) / recorded.length,
    told: () => ({ steps: recorded.length, left: [...left].map(([step, chosen]) => ({ step, chosen })) }),
  }
}
