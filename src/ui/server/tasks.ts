/** Tasks as lanes: a slot each, with what was tried on it and how that ended. */
import type { LoggedEvent } from '../../events/catalogue.ts'
import type { LogReader } from '../../events/log-reader.ts'
import type { LaneMark, TaskLane, TasksPage } from '../logic/tasks-page.ts'
import type { OpenRun } from './open-runs.ts'

/** Most lanes of an answer. */
const MOST_LANES = 1_000

/**
 * Lanes in order of their slots. Those with an accepted task come first.
 * @param all also slots on which nothing was tried
 */
export function tasksPage({ log, figures }: OpenRun, at: number, all: boolean): TasksPage {
  const marks = marksOf(log, at)
  const begun = log.newest(['IterationStarted'], at)
  const last = begun?.type === 'IterationStarted' ? begun.data.iteration : 0
  const tasks = activeTasks(log, at)
  const isAccepted = ([slot]: readonly [string, unknown]) =>
    marks.get(slot)?.some(({ kind }) => kind === 'accepted') ?? false
  const shown = [...tasks]
    .filter(([slot]) => all || marks.has(slot))
    .sort((a, b) => Number(isAccepted(b)) - Number(isAccepted(a)))
    .slice(0, MOST_LANES)
  const played = playedMarks(figures, last)
  const kinds = [...marks.values()].flat().map(({ kind }) => kind)
  const count = (kind: LaneMark['kind']) => kinds.filter((one) => one === kind).length
  return {
    last,
    slots: tasks.size,
    lanes: shown.map(([slot, task]) =>
      laneOf(slot, task, [...(played.get(slot) ?? []), ...(marks.get(slot) ?? [])]),
    ),
    accepted: count('accepted'),
    rejected: count('rejected'),
    refused: count('refused'),
  }
}

type Task = { readonly goal: string; readonly kind: string }

export function laneOf(slot: string, { goal, kind }: Task, marks: readonly LaneMark[]): TaskLane {
  return { slot, goal, kind, marks: [...marks].sort((a, b) => a.iteration - b.iteration) }
}

/** What an event says of a slot, without its large fields. */
type Said = {
  readonly position: number
  readonly slot: string
  readonly mark: LaneMark | null
  /** The task that is played from here on. */
  readonly task: Task | null
}

type Kept = {
  readonly list: Said[]
  position: number
  hash: string
  proposed: Map<string, Task & { id: string }>
}

/** Of each log that was asked, what its events say of slots. New events are read once. */
const kept = new WeakMap<LogReader, Kept>()

const NEWS = ['TaskAdded', 'TaskProposed', 'TaskAccepted', 'TaskRejected'] as const

function saidUntil(log: LogReader, at: number): readonly Said[] {
  let own = kept.get(log)
  // A log that was rolled back has other events at the same positions.
  if (own === undefined || log.hashAt(own.position) !== own.hash) {
    own = { list: [], position: 0, hash: '', proposed: new Map() }
    kept.set(log, own)
  }
  const end = log.head().position
  for (const event of log.events({ types: NEWS, from: own.position + 1, until: end })) {
    const { slot } = event.data
    const mark = event.type === 'TaskAdded' ? null : markOf(event)
    own.list.push({ position: event.position, slot, mark, task: taskOf(event, own.proposed) })
  }
  own.position = end
  own.hash = log.hashAt(end)
  return own.list.filter(({ position }) => position <= at)
}

function taskOf({ type, data }: LoggedEvent<(typeof NEWS)[number]>, proposed: Kept['proposed']): Task | null {
  if (type === 'TaskAdded')
    return data.split === 'train' ? { goal: data.task.goal, kind: data.task.kind } : null
  if (type === 'TaskProposed') {
    const { id, goal, kind } = data.task
    proposed.set(data.slot, { id, goal, kind })
    return null
  }
  const candidate = proposed.get(data.slot)
  if (type === 'TaskRejected' || candidate?.id !== data.task) return null
  return { goal: candidate.goal, kind: candidate.kind }
}

function markOf({
  type,
  data,
}: LoggedEvent<'TaskProposed'> | LoggedEvent<'TaskAccepted'> | LoggedEvent<'TaskRejected'>): LaneMark {
  const { iteration, direction } = data
  if (type === 'TaskProposed') return { iteration, direction, kind: 'proposed', accuracy: null, reason: null }
  const { successes, n } = data.accuracy
  const kind = type === 'TaskAccepted' ? 'accepted' : data.task === null ? 'refused' : 'rejected'
  return { iteration, direction, kind, accuracy: n === 0 ? null : successes / n, reason: data.reason }
}

/** By slot, in order of their names: what was tried, and how it ended. */
export function marksOf(log: LogReader, at: number): Map<string, LaneMark[]> {
  const found = new Map<string, LaneMark[]>()
  for (const { slot, mark } of saidUntil(log, at)) {
    if (mark === null) continue
    const own = found.get(slot)
    if (own) own.push(mark)
    else found.set(slot, [mark])
  }
  // A proposal is told by its decision, once that is there.
  for (const [slot, own] of found)
    found.set(
      slot,
      own.filter(
        ({ kind }, i) =>
          kind !== 'proposed' ||
          !own.slice(i + 1).some((later) => later.kind === 'accepted' || later.kind === 'rejected'),
      ),
    )
  return new Map([...found].sort(([a], [b]) => (a < b ? -1 : 1)))
}

/** Active task of each slot for training, in order of the slots. */
function activeTasks(log: LogReader, at: number): Map<string, Task> {
  const tasks = new Map<string, Task>()
  for (const { slot, task } of saidUntil(log, at)) if (task !== null) tasks.set(slot, task)
  return new Map([...tasks].sort(([a], [b]) => (a < b ? -1 : 1)))
}

/** By slot: how well the active task went when it was trained on. */
export function playedMarks(figures: OpenRun['figures'], last: number): Map<string, LaneMark[]> {
  const rows = (figures
    .read()
    ?.db.prepare(
      `SELECT slot, iteration, successes, n FROM accuracy WHERE purpose = 'train' AND iteration <= ? AND n > 0`,
    )
    .all(last) ?? []) as { slot: string; iteration: number; successes: number; n: number }[]
  const found = new Map<string, LaneMark[]>()
  for (const { slot, iteration, successes, n } of rows) {
    const mark: LaneMark = {
      iteration,
      kind: 'played',
      direction: null,
      accuracy: successes / n,
      reason: null,
    }
    const own = found.get(slot)
    if (own) own.push(mark)
    else found.set(slot, [mark])
  }
  return found
}
