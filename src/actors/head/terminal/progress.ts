/** The terminal's view of a running run: a fold of its events, and the lines that a person reads. */

import { sparkline, WIDTH, wrap } from '../../../columns.ts'
import { NOT_TRAINED } from '../../../events/catalogue/model.ts'
import type { EventData, LoggedEvent } from '../../../events/catalogue.ts'
import type { LogReader } from '../../../events/log-reader.ts'
import { isHeld, isLifted } from '../../../events/run-turn.ts'
import { itemAt } from '../../../item-at.ts'
import { type Estimate, wilson } from '../../../learning/interval.ts'
import { ALARM_EVENTS, type Alarms, openAlarms } from '../alarms.ts'
import { type UnitTestProgress, unitTestProgress } from './unit-test-progress.ts'

export type Progress = {
  /** Null if the run's time decides. */
  readonly iterations: number | null
  /** Columns that a line may take. */
  readonly width: number
  iteration: number
  requested: number
  ended: number
  failed: number
  failedInTraining: number
  /** Number of failed rollouts by cause, and one of their errors. */
  readonly causes: Map<string, { count: number; error: string }>
  /** Programs that did not do the same twice. */
  flaky: number
  /** Rollouts whose prompt did not fit any more. */
  outOfContext: number
  judged: number
  accepted: number
  rejected: number
  acceptedInAll: number
  /** Verdicts, and those that agree with the outcome of their rollout. */
  verdicts: { right: number; n: number }
  /** Success of the iteration's rollouts by their ids. */
  success: Map<string, boolean>
  readonly unitTests: UnitTestProgress
  readonly alarms: Alarms
  /** Start of each iteration. */
  startedMs: number[]
  /** Accuracy of training in each iteration. */
  accuracies: number[]
}

/** A line that an event shows to a person. An event may show none or several. */
export type Line = string

export function startProgress(iterations: number | null, width = WIDTH): Progress {
  return {
    iterations,
    width,
    iteration: -1,
    acceptedInAll: 0,
    unitTests: unitTestProgress(),
    alarms: openAlarms(),
    startedMs: [],
    accuracies: [],
    ...startIteration(),
  }
}

/** Types of events of which a resumed run still shows something. */
const SUMMED = ['IterationStarted', 'RolloutFailed', 'IterationCompleted'] as const

/** Counts the events before the open iteration. Returns the position before it. */
export function goOn(progress: Progress, log: LogReader): number {
  const open = log.newest(['IterationStarted'])
  if (open === null) return 0
  progress.acceptedInAll = log.countOf('TaskAccepted', open.position)
  let failed = 0
  for (const event of log.events({ types: ALARM_EVENTS, until: open.position - 1 }))
    progress.alarms.see(event)
  for (const event of log.events({ types: SUMMED, until: open.position - 1 })) {
    if (event.type === 'IterationStarted') {
      progress.startedMs.push(event.time)
      failed = 0
    } else if (event.type === 'RolloutFailed') {
      if (event.data.purpose === 'train') failed++
    } else if (event.data.accuracy.n > 0)
      progress.accuracies.push(accuracyOf(event.data.accuracy, failed).value)
  }
  return open.position - 1
}

/** Folds one event into the progress (in place) and returns the lines that it is worth. */
export function follow(progress: Progress, event: LoggedEvent): readonly Line[] {
  const lines = linesOf(progress, event)
  const alarms = progress.alarms.see(event)
  return alarms.length === 0 ? lines : [...alarms, ...lines]
}

function linesOf(progress: Progress, event: LoggedEvent): readonly Line[] {
  switch (event.type) {
    case 'PolicyUpdated':
      return modelUpdated(progress.width, 'policy', event)
    case 'RewardModelUpdated':
      return modelUpdated(progress.width, 'reward model', event)
    case 'PolicyPublished':
      return modelPublished('policy', event)
    case 'RewardModelPublished':
      return modelPublished('reward model', event)
    case 'IterationStarted':
      beginIteration(progress, event)
      return []
    case 'RolloutRequested':
      progress.requested++
      return []
    case 'TrajectoryCompleted':
      rolloutEnded(progress, event)
      return []
    case 'RolloutFailed':
      progress.ended++
      progress.failed++
      countCause(progress, event.data)
      if (event.data.purpose === 'train') progress.failedInTraining++
      return []
    case 'ProgramTested':
      progress.unitTests.see(event)
      return []
    case 'ProgramFlaky':
      progress.flaky++
      return []
    case 'StepScored':
      progress.unitTests.see(event)
      stepScored(progress, event)
      return []
    case 'TrajectoryJudged':
      progress.judged++
      return []
    case 'TaskAccepted':
      progress.accepted++
      progress.acceptedInAll++
      return []
    case 'TaskRejected':
      progress.rejected++
      return []
    case 'EvaluationCompleted':
      return [evaluationLine(event)]
    case 'IterationCompleted':
      return iterationLines(progress, event)
    case 'StallDetected':
      return [
        `stalled: ${event.data.owner} waits for ${event.data.waitingFor} from ${event.data.from} since ${clock(event.data.since)}`,
      ]
    case 'HostSetAside': {
      const { host, failed, tries, until } = event.data
      return [
        `${host} is put aside until iteration ${until} is over: ${failed} of its last ${tries} tries of rollouts failed`,
      ]
    }
    case 'ActorFailed':
      return [`${event.data.role} (${event.data.worker}): ${event.data.error}`]
    case 'WorkFailed': {
      const { role, job, done, attempts, error, goesOn } = event.data
      return goesOn
        ? [
            `given up: ${role}'s ${job} (${done}) after ${attempts} tries, the run goes on without it: ${error}`,
          ]
        : []
    }
    case 'RunPaused':
      return isHeld(event.data.reason)
        ? [`${event.data.reason}; npm run -s rl -- resume ${event.run} goes on`]
        : [`paused: ${event.data.reason}`]
    case 'RunResumed':
      return [isLifted(event.data.reason) ? event.data.reason : `goes on: ${event.data.reason}`]
    case 'RunFailed':
      return [`failed: ${event.data.reason}`]
    default:
      return []
  }
}

/** Returns a line that a terminal redraws: the progress of the present iteration. */
export function barLine(progress: Progress, width = 24): string {
  const total = Math.max(progress.requested, 1)
  const filled = Math.round((width * progress.ended) / total)
  const bar = `${'#'.repeat(filled)}${'.'.repeat(width - filled)}`
  const stage = progress.ended < progress.requested ? 'rollouts' : 'training'
  return `  iteration ${numbered(Math.max(progress.iteration, 0), progress.iterations).trimEnd()} [${bar}] ${progress.ended}/${progress.requested} ${stage}, ${progress.judged} judged`
}

function beginIteration(progress: Progress, { data, time }: LoggedEvent<'IterationStarted'>): void {
  progress.startedMs.push(time)
  progress.unitTests.begin()
  Object.assign(progress, startIteration(), { iteration: data.iteration })
}

/** Counts that begin anew in each iteration. */
function startIteration() {
  return {
    requested: 0,
    ended: 0,
    failed: 0,
    failedInTraining: 0,
    causes: new Map<string, { count: number; error: string }>(),
    flaky: 0,
    outOfContext: 0,
    judged: 0,
    accepted: 0,
    rejected: 0,
    verdicts: { right: 0, n: 0 },
    success: new Map<string, boolean>(),
  } satisfies Partial<Progress>
}

function rolloutEnded(progress: Progress, { data }: LoggedEvent<'TrajectoryCompleted'>): void {
  progress.ended++
  if (data.ended === 'context') progress.outOfContext++
  if (data.outcome.kind === 'scored') progress.success.set(data.rollout, data.outcome.success)
}

function stepScored({ verdicts, success }: Progress, { data }: LoggedEvent<'StepScored'>): void {
  const verdict = data.judgements.reduce((sum, judgement) => sum + judgement.score, 0)
  const succeeded = success.get(data.rollout)
  if (verdict === 0 || succeeded === undefined) return
  verdicts.n++
  if (verdict > 0 === succeeded) verdicts.right++
}

function modelUpdated(
  width: number,
  what: string,
  { data }: LoggedEvent<'PolicyUpdated'> | LoggedEvent<'RewardModelUpdated'>,
): readonly Line[] {
  if (data.version === 0) {
    // A figure stays beside its name.
    const told = figures(data.metrics, '\u00a0')
    const lines = wrap(`${what} ready${told === '' ? '' : `: ${told}`}`, width, '  ')
    return lines.map((line) => line.replaceAll('\u00a0', ' '))
  }
  // A model that the config keeps as it is has no update that could stop.
  const isNews = data.stopped !== null && !data.stopped.startsWith(NOT_TRAINED)
  return isNews ? [`${what} ${data.version}: update stopped: ${data.stopped}`] : []
}

/** Lists each server that does not have the version, and the version that serves if no server has it. */
function modelPublished(
  what: string,
  { data }: LoggedEvent<'PolicyPublished'> | LoggedEvent<'RewardModelPublished'>,
): readonly Line[] {
  const { version, serving, replicas } = data
  const lines = replicas.flatMap(({ url, state, error }) =>
    state === 'done' ? [] : [`${what} ${version} was not taken by ${url}: ${error}`],
  )
  const instead = serving === 0 ? 'the model of the config' : `version ${serving}`
  return serving === version ? lines : [...lines, `${what} ${version}: ${instead} answers in its place`]
}

/** Median time from one iteration to the next: the one in which a run stood still does not count. */
function usualMs(startedMs: readonly number[], endedMs: number): number {
  const ends = [...startedMs.slice(1), endedMs]
  const lengths = startedMs.map((time, i) => itemAt(ends, i) - time)
  return lengths.sort((a, b) => a - b)[lengths.length >> 1] ?? Number.NaN
}

/** One line of an iteration, and above it a line for each thing that went wrong. */
function iterationLines(
  progress: Progress,
  { run, data, time }: LoggedEvent<'IterationCompleted'>,
): readonly Line[] {
  const { iteration } = data
  const look = `rl log ${run} tail --type`
  const alarm = (count: number, what: string, text: string) =>
    count > 0 ? [`${count} ${what}${count === 1 ? '' : 's'} ${text}`] : []
  const lines = [
    ...alarm(progress.failed, 'rollout', `of iteration ${iteration} failed: ${look} RolloutFailed`),
    ...causeLines(progress),
    ...alarm(progress.flaky, 'flaky program', `in iteration ${iteration}: ${look} ProgramFlaky`),
    ...alarm(progress.outOfContext, 'rollout', `of iteration ${iteration} ended at the context's end`),
  ]
  return data.accuracy.n > 0 ? [...lines, iterationLine(progress, { data, time })] : lines
}

function countCause({ causes }: Progress, { cause, error }: EventData<'RolloutFailed'>): void {
  const known = causes.get(cause)
  if (known) known.count++
  else causes.set(cause, { count: 1, error })
}

/** Returns a line for each cause of failed rollouts, with the first of its errors as far as it fits. */
function causeLines({ causes, width }: Progress): readonly Line[] {
  return [...causes].map(([cause, { count, error }]) => {
    const [first = ''] = error.split('\n', 1)
    const line = `  ${cause} ${count}, e.g. ${first}`
    return line.length > width ? `${line.slice(0, width - 3)}...` : line
  })
}

const GAP = '  '
const MOST_BARS = 20

/** The last iterations are drawn in the columns that are left. If there are too few, the last fields are left out. */
function iterationLine(
  progress: Progress,
  { data, time }: Pick<LoggedEvent<'IterationCompleted'>, 'data' | 'time'>,
): Line {
  const { iterations, startedMs, accuracies, verdicts, accepted, acceptedInAll } = progress
  const took = time - (startedMs.at(-1) ?? time)
  const left = iterations === null ? null : usualMs(startedMs, time) * (iterations - data.iteration)
  const accuracy = accuracyOf(data.accuracy, progress.failedInTraining)
  accuracies.push(accuracy.value)
  const judge = progress.unitTests.line() ?? (progress.judged > 0 ? `judge ${ratio(verdicts)}` : null)
  const fields = [
    `iteration ${numbered(data.iteration, iterations)}`,
    `accuracy ${interval(accuracy)}`,
    ...(judge === null ? [] : [judge]),
    `tasks +${accepted} (${acceptedInAll})`.padEnd(13),
    (took < 90_000 ? `${(took / 1000).toFixed(1)} s` : duration(took)).padStart(6),
    ...(left === null ? [] : [`left ${duration(left)}`.padEnd(11)]),
  ]
  while (fields.join(GAP).length > progress.width) fields.pop()
  const room = Math.min(MOST_BARS, progress.width - [...fields, ''].join(GAP).length)
  if (room > 0) fields.push(sparkline(accuracies.slice(-room)))
  return fields.join(GAP).trimEnd()
}

function numbered(iteration: number, of: number | null): string {
  return of === null ? `${iteration}`.padEnd(3) : `${iteration}/${of}`.padEnd(2 * `${of}`.length + 1)
}

/** A failed rollout counts as no success. Without it the figure would be too high. */
function accuracyOf({ successes, n }: { successes: number; n: number }, failed: number): Estimate {
  return wilson(successes, n + failed)
}

function evaluationLine({ data }: LoggedEvent<'EvaluationCompleted'>): Line {
  const { successes, n } = data.rollouts
  const failed = data.failed > 0 ? `, ${data.failed} failed` : ''
  const figure = `${interval(wilson(successes, n))} n ${n}${failed}`
  return `evaluation of policy ${data.policyVersion} on ${data.split}: ${figure}, ${data.meanSteps.toFixed(1)} steps`
}

function figures(metrics: Readonly<Record<string, number>>, space: string): string {
  const parts = Object.entries(metrics).map(([name, value]) => `${name}${space}${short(value)}`)
  return parts.join(', ')
}

function interval({ value, low, high }: Estimate): string {
  return `${value.toFixed(2)} [${low.toFixed(2)}, ${high.toFixed(2)}]`
}

function ratio({ right, n }: { right: number; n: number }): string {
  return n === 0 ? '-' : (right / n).toFixed(2)
}

function short(value: number): string {
  return Number.isInteger(value) ? String(value) : Number(value.toPrecision(3)).toString()
}

export function duration(ms: number): string {
  const seconds = Math.round(ms / 1000)
  if (seconds < 90) return `${seconds} s`
  if (seconds < 5400) return `${Math.round(seconds / 60)} min`
  return `${(seconds / 3600).toFixed(1)} h`
}

function clock(ms: number): string {
  return new Date(ms).toISOString().slice(11, 19)
}
