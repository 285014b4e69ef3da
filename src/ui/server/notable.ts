/** Events that a person would want to know of, newest first. */
import type { EventType, LoggedEvent } from '../../events/catalogue.ts'
import type { LogReader } from '../../events/log-reader.ts'
import type { Notable } from '../logic/answers.ts'

/** Types that turn the course of a run, or tell that something went wrong with it. */
export const TURNING = [
  'RunStarted',
  'RunPaused',
  'RunResumed',
  'RunFailed',
  'RunCompleted',
  'StallDetected',
  'WorkFailed',
  'ActorFailed',
  'HostSetAside',
] as const satisfies readonly EventType[]

const TYPES = [...TURNING, 'RolloutFailed', 'ProgramFlaky', 'TaskAccepted', 'EvaluationCompleted'] as const

const MOST = 12

export function notable(log: LogReader, at: number): Notable[] {
  const found: Notable[] = []
  for (let until = at; found.length < MOST && until > 0; ) {
    const event = log.newest(TYPES, until)
    if (event === null) break
    found.push({ position: event.position, time: event.time, type: event.type, text: textOf(event) })
    until = event.position - 1
  }
  return found
}

/** One line on an event, in words if there are words for its type. */
export function textOf({ type, data }: LoggedEvent): string {
  switch (type) {
    case 'RunStarted':
      return data.parent === null
        ? 'the run began'
        : `it left run ${data.parent.run} at ${data.parent.position}`
    case 'RunPaused':
    case 'RunResumed':
    case 'RunFailed':
      return data.reason
    case 'RunCompleted':
      return `${data.iterations} iterations`
    case 'StallDetected':
      return `${data.owner} waited in vain for ${data.waitingFor} from ${data.from}`
    case 'HostSetAside':
      return `${data.host} is put aside until iteration ${data.until} is over: ${data.failed} of ${data.tries} tries failed`
    case 'WorkFailed':
      return `${data.role}: ${data.job} failed ${data.attempts} times: ${data.error}`
    case 'RolloutFailed':
      return `${data.rollout}: ${data.error}`
    case 'TaskAccepted':
      // The reason of an accepted one begins with the direction mostly.
      return `${data.slot}: ${data.reason.startsWith(data.direction) ? '' : `${data.direction}, `}${data.reason}`
    case 'TaskRejected':
      return `${data.slot}: ${data.direction}, ${data.reason}`
    case 'TaskProposed':
      return `${data.slot}: ${data.direction} than ${data.parent}: ${data.task.goal}`
    case 'TaskAdded':
      return `${data.split} ${data.slot}: ${data.task.goal}`
    case 'EvaluationCompleted':
      return `policy ${data.policyVersion} on ${data.split}: ${data.rollouts.successes} of ${data.rollouts.n}`
    case 'TrajectoryCompleted':
      return `${data.rollout}: ${data.outcome.kind === 'scored' ? (data.outcome.success ? 'success' : `no success, worth ${data.outcome.value}`) : data.outcome.reason}, ${data.steps} steps`
    case 'StepScored':
      return `${data.rollout}#${data.step}: ${data.judgements.map(({ score }) => (score > 0 ? '+' : score < 0 ? '-' : '?')).join('')}`
    case 'TrajectoryJudged':
      return `${data.rollout}: ${data.steps.good} good, ${data.steps.bad} bad`
    default:
      return fieldsOf(data)
  }
}

/** Short fields of an event's data, in one line. */
function fieldsOf(data: object): string {
  return Object.entries(data)
    .filter(([, value]) => ['string', 'number', 'boolean'].includes(typeof value))
    .map(([name, value]) => `${name} ${String(value).slice(0, 80)}`)
    .join(', ')
}
