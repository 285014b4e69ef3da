/**
 * Finds the cause of an event. It is in the event. In logs that lost it, it is the event that asked for it,
 * by natural key.
 */
import type { LoggedEvent } from '../events/catalogue.ts'
import type { LogReader } from '../events/log-reader.ts'

/** Returns null for the first event of a run, and for acts of people and processes without a cause. */
export function causeOf(log: LogReader, event: LoggedEvent): LoggedEvent | null {
  if (event.cause !== null) return log.byId(event.cause)
  const key = keyOfCause(event)
  return key === null ? null : log.byKey(key)
}

function keyOfCause({ type, data }: LoggedEvent): string | null {
  switch (type) {
    case 'TrajectoryCompleted':
    case 'RolloutFailed':
    case 'RolloutClaimed':
    case 'StepNoted':
      return `RolloutRequested/${data.rollout}`
    case 'StepScored':
    case 'TrajectoryJudged':
    case 'ProgramTested':
    case 'FramesRecorded':
    case 'CallsRecorded':
      return `Rollout/${data.rollout}`
    case 'UnitTestWritten':
    case 'TaskProposed':
    case 'TaskAccepted':
    case 'TaskRejected':
      return `IterationPlanned/${data.iteration}`
    case 'IterationPlanned':
    case 'RolloutRequested':
    case 'IterationCompleted':
      return `IterationStarted/${data.iteration}`
    case 'TaskAdded':
    case 'IterationStarted':
      return 'RunStarted'
    default:
      return null
  }
}
