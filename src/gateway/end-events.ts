/** The events that end a rollout, and how it is counted. */
import type { EventData, NewEvent } from '../events/catalogue.ts'
import type { FinalEnding, OpenRollout } from './open-rollout.ts'

/** Returns the kinds of calls that were refused, in words. */
function refusalsOf({ refused }: OpenRollout): string {
  if (refused.size === 0) return ''
  return ` (refused: ${[...refused].map(([kind, count]) => `${kind} ${count}`).join(', ')})`
}

/** A rollout whose agent never called the model has failed, whatever it says. */
export function endEvents(
  rollout: OpenRollout,
  ending: FinalEnding,
  durationMs: number,
): { readonly events: NewEvent[]; readonly count: 'scored' | 'abstained' | 'timed out' | 'failed' } {
  const { recorder, assignment } = rollout
  const { request } = assignment
  const calls: NewEvent[] =
    recorder.steps() > 0 ? [{ type: 'CallsRecorded', data: recorder.calls(request) }] : []
  if (ending.kind === 'outcome' && recorder.steps() > 0) {
    const data = recorder.trajectory(request, ending.outcome, durationMs)
    const { kind } = data.outcome
    return { events: [...calls, { type: 'TrajectoryCompleted', data }], count: kind }
  }
  const { cause, error } =
    ending.kind === 'failed'
      ? ending
      : { cause: 'agent' as const, error: 'the agent told an outcome and never called the model' }
  const { iteration, purpose, slot, task } = request
  const failed: EventData<'RolloutFailed'> = {
    rollout: request.rollout,
    iteration,
    purpose,
    slot,
    task,
    cause,
    error: `${error.slice(0, 1_800)}${refusalsOf(rollout)}`.slice(0, 2_000),
    attempts: 1,
  }
  return {
    events: [...calls, { type: 'RolloutFailed', data: failed }],
    count: cause === 'budget' ? 'timed out' : 'failed',
  }
}
