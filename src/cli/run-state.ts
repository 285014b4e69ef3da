/** Where a run stands, as its log tells. */
import { countNotServed } from '../actors/learner/targets.ts'
import type { LoggedEvent } from '../events/catalogue.ts'
import type { LogReader } from '../events/log-reader.ts'

export type RunState = {
  readonly run: string
  readonly state: 'empty' | 'running' | 'paused' | 'failed' | 'completed'
  /** Why it is paused or failed. */
  readonly reason: string | null
  readonly events: number
  /** Iteration that began last; null before the first. */
  readonly iteration: number | null
  /** Without iteration 0, which measures the cold start. */
  readonly completedIterations: number
  readonly startedAt: number | null
  readonly lastEventAt: number | null
  readonly parent: string | null
  readonly deadLetters: number
  readonly stalls: number
  /** Versions that no server took: an older one answered in their place. */
  readonly notServed: number
  /** What the processes of each worker's name said of themselves when they started last. */
  readonly notes: Readonly<Record<string, string>>
}

const TURNS = ['RunStarted', 'RunPaused', 'RunResumed', 'RunFailed', 'RunCompleted'] as const

export function runStateOf(log: LogReader): RunState {
  const { position } = log.head()
  const last = position === 0 ? null : first(log.events({ from: position }))
  const turn = log.newest(TURNS)
  const iteration = log.newest(['IterationStarted'])
  return {
    run: log.run,
    state: stateOf(turn),
    reason: turn?.type === 'RunFailed' || turn?.type === 'RunPaused' ? turn.data.reason : null,
    events: position,
    iteration: iteration?.type === 'IterationStarted' ? iteration.data.iteration : null,
    completedIterations: log.countOf('IterationCompleted') - (measuredColdStart(log) ? 1 : 0),
    startedAt: first(log.events({ until: 1 }))?.time ?? null,
    lastEventAt: last?.time ?? null,
    parent: log.parent ? `${log.parent.run}@${log.parent.position}` : null,
    deadLetters: log.deadLetters(0).total,
    stalls: log.countOf('StallDetected'),
    notServed: countNotServed(log),
    notes: notesOf(log),
  }
}

function measuredColdStart(log: LogReader): boolean {
  return log.positionOf('key', 'IterationCompleted/0') !== null
}

function stateOf(turn: LoggedEvent | null): RunState['state'] {
  switch (turn?.type) {
    case 'RunCompleted':
      return 'completed'
    case 'RunFailed':
      return 'failed'
    case 'RunPaused':
      return 'paused'
    default:
      return turn ? 'running' : 'empty'
  }
}

function notesOf(log: LogReader): Record<string, string> {
  const notes: Record<string, string> = {}
  for (const { data } of log.events({ types: ['ActorStarted'] })) notes[data.worker] = data.note
  return notes
}

function first(events: Iterable<LoggedEvent>): LoggedEvent | null {
  for (const event of events) return event
  return null
}
