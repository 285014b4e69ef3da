/** The terminal's view of a running run: a fold of its events, and the lines that a person reads. */
import type { LoggedEvent } from '../../../events/catalogue.ts'
import type { LogReader } from '../../../events/log-reader.ts'
import { isHeld, isLifted } from '../../../events/run-turn.ts'
import { type Estimate, wilson } from '../../../learning/interval.ts'
import { progressLabel } from '../../../learning/progress-labels.ts'
import { type UnitTestProgress, unitTestProgress } from './unit-test-progress.ts'

export type Progress = {
  readonly iterations: number
  iteration: number
  policyVersion: number
  requested: number
  ended: number
  failed: number
  failedInTraining: number
  /** Programs that did not do the same twice. */
  flaky: number
  /** Rollouts whose prompt did not fit any more. */
  outOfContext: number
  judged: number
  successes: number
  scored: number
  accepted: number
  rejected: number
  acceptedInAll: number
  /** Verdicts that agree with the sign of true progress, and with the outcome. */
  process: { right: number; n: number }
  outcome: { right: number; n: number }
  /** Success of the iteration's rollouts by their ids. */
  success: Map<string, boolean>
  readonly unitTests: UnitTestProgress
  generatedTokens: number
  trainedTokens: number
  staleness: number
  /** Start of each iteration. */
  startedMs: number[]
  health: string[]
}

/** A line that an event shows to a person. An event may show none or several. */
export type Line = string

export function startProgress(iterations: number): Progress {
  return {
    iterations,
    iteration: -1,
    policyVersion: 0,
    acceptedInAll: 0,
    unitTests: unitTestProgress(),
    staleness: 0,
    startedMs: [],
    ...startIteration(),
  }
}

/** Counts the events before the open iteration. Returns the position before it. */
export function goOn(progress: Progress, log: LogReader): number {
  const open = log.newest(['IterationStarted'])
  if (open === null) return 0
  progress.acceptedInAll = log.countOf('TaskAccepted', open.position)
  for (const { time } of log.events({ types: ['IterationStarted'], until: open.position - 1 }))
    progress.startedMs.push(time)
  return open.position - 1
}

/** Folds one event into the progress (in place) and returns the lines that it is worth. */
export function follow(progress: Progress, event: LoggedEvent): readonly Line[] {
  switch (event.type) {
    case 'PolicyUpdated':
      return modelUpdated(progress, 'policy', event)
    case 'RewardModelUpdated':
      return modelUpdated(progress, 'reward model', event)
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
      if (event.data.purpose === 'train') progress.failedInTraining++
      return []
    case 'ProgramTested':
    case 'UnitTestWritten':
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
      return event.data.accuracy.n > 0 ? [iterationLine(progress, event)] : []
    case 'StallDetected':
      return [
        `stalled: ${event.data.owner} waits for ${event.data.waitingFor} from ${event.data.from} since ${clock(event.data.since)}`,
      ]
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
  return `  iteration ${Math.max(progress.iteration, 0)}/${progress.iterations} [${bar}] ${progress.ended}/${progress.requested} ${stage}, ${progress.judged} judged`
}

function beginIteration(progress: Progress, { data, time }: LoggedEvent<'IterationStarted'>): void {
  progress.startedMs.push(time)
  progress.unitTests.begin()
  Object.assign(progress, startIteration(), {
    iteration: data.iteration,
    staleness: Math.max(0, data.iteration - 1 - data.policyVersion),
  })
}

/** Counts that begin anew in each iteration. */
function startIteration() {
  return {
    requested: 0,
    ended: 0,
    failed: 0,
    failedInTraining: 0,
    flaky: 0,
    outOfContext: 0,
    judged: 0,
    successes: 0,
    scored: 0,
    accepted: 0,
    rejected: 0,
    process: { right: 0, n: 0 },
    outcome: { right: 0, n: 0 },
    success: new Map<string, boolean>(),
    generatedTokens: 0,
    trainedTokens: 0,
    health: [],
  } satisfies Partial<Progress>
}

function rolloutEnded(progress: Progress, { data }: LoggedEvent<'TrajectoryCompleted'>): void {
  progress.ended++
  if (data.ended === 'context') progress.outOfContext++
  progress.generatedTokens += data.usage.completionTokens
  if (data.outcome.kind !== 'scored') return
  progress.success.set(data.rollout, data.outcome.success)
  if (data.purpose !== 'train') return
  progress.scored++
  if (data.outcome.success) progress.successes++
}

function stepScored(progress: Progress, { data }: LoggedEvent<'StepScored'>): void {
  const verdict = data.judgements.reduce((sum, judgement) => sum + judgement.score, 0)
  if (verdict === 0) return
  if (data.progress !== null) count(progress.process, verdict > 0 === (progressLabel(data.progress) === 1))
  const success = progress.success.get(data.rollout)
  if (success !== undefined) count(progress.outcome, verdict > 0 === success)
}

function count(tally: { right: number; n: number }, right: boolean): void {
  tally.n++
  if (right) tally.right++
}

function modelUpdated(
  progress: Progress,
  what: string,
  { data }: LoggedEvent<'PolicyUpdated'> | LoggedEvent<'RewardModelUpdated'>,
): readonly Line[] {
  progress.trainedTokens += data.metrics.tokens ?? 0
  if (what === 'policy') progress.policyVersion = data.version
  if (data.version === 0) return [`${what} ready: ${figures(data.metrics)}`]
  if (what === 'policy') progress.health.push(healthOf(data.metrics))
  return data.stopped ? [`${what} ${data.version}: update stopped: ${data.stopped}`] : []
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
  const lengths = [...startedMs.slice(1), endedMs].map((time, i) => time - startedMs[i])
  return lengths.sort((a, b) => a - b)[lengths.length >> 1]
}

function iterationLine(progress: Progress, { data, time }: LoggedEvent<'IterationCompleted'>): Line {
  const seconds = (time - (progress.startedMs.at(-1) ?? time)) / 1000
  const rate = (progress.generatedTokens + progress.trainedTokens) / Math.max(seconds, 0.001)
  const left = usualMs(progress.startedMs, time) * (progress.iterations - data.iteration)
  const parts = [
    `iteration ${data.iteration}/${progress.iterations}`,
    // A failed rollout counts as no success. Without it the figure would be too high.
    `accuracy ${interval(wilson(data.accuracy.successes, data.accuracy.n + progress.failedInTraining))}`,
    progress.unitTests.line() ??
      `judge process ${ratio(progress.process)} outcome ${ratio(progress.outcome)}`,
    `tasks +${progress.accepted} of ${progress.accepted + progress.rejected} (${progress.acceptedInAll} in all)`,
    ...progress.health,
    `stale ${progress.staleness}`,
    `${Math.round(rate)} tok/s`,
    `${seconds.toFixed(1)} s`,
    `left ${duration(left)}`,
  ]
  if (progress.flaky > 0) parts.splice(3, 0, `${progress.flaky} flaky programs`)
  if (progress.outOfContext > 0) parts.splice(3, 0, `${progress.outOfContext} ended at the context's end`)
  if (progress.failed > 0) parts.splice(3, 0, `${progress.failed} rollouts failed`)
  return parts.filter((part) => part !== '').join(' | ')
}

function evaluationLine({ data }: LoggedEvent<'EvaluationCompleted'>): Line {
  const { successes, n } = data.rollouts
  const failed = data.failed > 0 ? `, ${data.failed} failed` : ''
  return `evaluation of policy ${data.policyVersion} on ${data.split}: ${interval(wilson(successes, n))}${failed}, ${data.meanSteps.toFixed(1)} steps`
}

function healthOf(metrics: Readonly<Record<string, number>>): string {
  const shown = [
    ['kl', metrics.kl],
    ['entropy', metrics.entropy],
    ['clip', metrics.clipShare],
    ['grad', metrics.gradientNorm],
    ['flat', metrics.flatShare],
  ] as const
  return shown
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name} ${short(value)}`)
    .join(' ')
}

function figures(metrics: Readonly<Record<string, number>>): string {
  const parts = Object.entries(metrics).map(([name, value]) => `${name} ${short(value)}`)
  return parts.length > 0 ? parts.join(', ') : 'no figures'
}

function interval({ value, low, high, n }: Estimate): string {
  return `${value.toFixed(2)} [${low.toFixed(2)}, ${high.toFixed(2)}] n ${n}`
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
