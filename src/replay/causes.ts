/** What led to an event: the cause that it bears, and in logs that lost it the event that asked for it, by its natural key. */
import type { LoggedEvent } from '../events/catalogue.ts'
import type { LogReader } from '../events/log-reader.ts'

/** Null for the first event of a run, and for what people and processes do of their own accord. */
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
