import type { EventData } from './catalogue.ts'

/**
 * Returns the number of steps that a rollout played itself. Those of another rollout, from which it went on, are not among them. A
 * rollout whose tokens are unknown counts all its steps.
 */
export function playedSteps({
  steps,
  segments,
  storedSegments,
}: Pick<EventData<'TrajectoryCompleted'>, 'steps' | 'segments' | 'storedSegments'>): number {
  return steps - Math.min(steps, (storedSegments ?? segments[0])?.firstStep ?? 0)
}
