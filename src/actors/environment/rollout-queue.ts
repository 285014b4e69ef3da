/** The queue of rollouts, whatever plays them. */
import type { EventData, LoggedEvent } from '../../events/catalogue.ts'
import type { JobOf } from '../decider/jobs.ts'
import { redact } from '../runtime/redact.ts'
import { ROLLOUT_WORK } from '../runtime/work.ts'
import type { QueueWork } from '../runtime/worker.ts'

type Request = EventData<'RolloutRequested'>

/** @param slots rollouts in the hands of one worker at a time: they share each call of the policy */
export function rolloutQueue(deadlineMs: number, slots: number): QueueWork {
  return {
    kind: ROLLOUT_WORK,
    concurrency: slots,
    jobOf: (event): JobOf<'play'> => ({
      kind: 'play',
      done: ROLLOUT_WORK.done(event),
      input: requestOf(event),
      deadlineMs,
    }),
    exhausted: (event, attempts, lastError) => [
      { type: 'RolloutFailed', data: rolloutFailure(requestOf(event), 'infra', lastError, attempts) },
    ],
  }
}

function requestOf(event: LoggedEvent): Request {
  if (event.type !== 'RolloutRequested') throw new TypeError(`${event.type} asks for no rollout`)
  return event.data
}

export function rolloutFailure(
  { rollout, iteration, purpose, slot, task }: Request,
  cause: EventData<'RolloutFailed'>['cause'],
  error: string,
  attempts: number,
): EventData<'RolloutFailed'> {
  return { rollout, iteration, purpose, slot, task, cause, error: redact(error).slice(0, 2000), attempts }
}
