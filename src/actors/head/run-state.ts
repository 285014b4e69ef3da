/** State of a run, from its log and the life of its head. */

import { type RunFolder, readConnection } from '../../broker/connection.ts'
import type { LoggedEvent } from '../../events/catalogue.ts'
import type { LogReader } from '../../events/log-reader.ts'
import { type RunTurn, turnOf } from '../../events/run-turn.ts'
import { type Life, lifeOf, parseProcess } from '../../platform/process-id.ts'
import { countNotServed } from '../learner/targets.ts'
import { askHead, type LiveRun } from './liveness.ts'
import { type Code, codesOf } from './other-code.ts'

export type RunState = {
  /** The name of its folder, by which it is addressed. */
  readonly run: string
  /** The run that the log names. It differs from `run` if the folder was renamed. */
  readonly logOf: string
  /**
   * `paused`: by itself, or by a person while its head runs, for the given reason. `stopped`: by a person who
   * ended its head. `killed`: its head ended without a word. `never started`: no head has taken it, e.g. a fork that was only made.
   */
  readonly state: 'never started' | 'running' | 'paused' | 'stopped' | 'killed' | 'failed' | 'completed'
  /** Why it is paused or failed. */
  readonly reason: string | null
  /** Since when it is paused, stopped or failed (ms since 1970). Null in other states. */
  readonly since: number | null
  readonly events: number
  /** Iteration that began last. Null before the first. */
  readonly iteration: number | null
  /** Without iteration 0, which measures the cold start. */
  readonly completedIterations: number
  readonly startedAt: number | null
  readonly lastEventAt: number | null
  readonly parent: string | null
  readonly deadLetters: number
  readonly stalls: number
  /** Number of versions that no server took. An older one answered in their place. */
  readonly notServed: number
  /** Notes of each worker's processes at their last start, by the worker's name. */
  readonly notes: Readonly<Record<string, string>>
  /** Code of each worker's process at its last start. Null for one that told none. */
  readonly codes: Readonly<Record<string, Code>>
}

/** Whether the head of a run lives: asked over the bus if that cannot be seen from here. */
export async function headLives(folder: RunFolder): Promise<boolean> {
  const life = lifeOfHead(folder)
  return life === 'unknown' ? !('unreachable' in (await askHead(folder))) : life === 'lives'
}

/** Whether the head of a run lives, if it was asked already. A busy head may not answer. */
export function headLivesAfter(
  folder: RunFolder,
  asked: LiveRun | { readonly unreachable: string },
): boolean {
  return !('unreachable' in asked) || lifeOfHead(folder) === 'lives'
}

/** Life of the head that left its connection in the folder. `unknown` if it cannot be seen from here. */
export function lifeOfHead({ connection }: Pick<RunFolder, 'connection'>): Life {
  const left = readConnection(connection)
  if (left === null) return 'ended'
  const head = parseProcess(left.process)
  return head === null ? 'unknown' : lifeOf(head)
}

/** @param run the name of the log's folder */
export function runStateOf(log: LogReader, run: string, lives: boolean): RunState {
  const { position } = log.head()
  const last = position === 0 ? null : first(log.events({ from: position }))
  const turn = turnOf(log)
  const iteration = log.newest(['IterationStarted'])
  const state = stateOf(turn, lives)
  return {
    run,
    logOf: log.run,
    state,
    reason: turn.reason,
    since: STANDING.has(state) ? turn.since : null,
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
    codes: codesOf(log),
  }
}

function measuredColdStart(log: LogReader): boolean {
  return log.positionOf('key', 'IterationCompleted/0') !== null
}

/** States that began at a moment that the log tells. */
const STANDING: ReadonlySet<RunState['state']> = new Set(['paused', 'stopped', 'failed'])

export function stateOf({ kind }: RunTurn, lives: boolean): RunState['state'] {
  if (kind === 'held') return lives ? 'paused' : 'killed'
  if (kind !== 'begun') return kind
  return lives ? 'running' : 'killed'
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
