/** One iteration: its groups of rollouts, what followed for each task, and when which work was done. */

import type { LoggedEvent } from '../../events/catalogue.ts'
import type { LogReader } from '../../events/log-reader.ts'
import { wilson } from '../../learning/interval.ts'
import type { Cell, GroupRow, IterationPage, Lane, UpdatePoint } from '../logic/answers.ts'
import { pathOf } from '../logic/route.ts'
import { eventAt } from './event-at.ts'
import { groupRollouts, haveTests } from './group.ts'
import { NotHere } from './not-here.ts'
import type { OpenRun } from './open-runs.ts'

/** @throws RlError `ui.no-iteration` */
export function iterationPage({ log }: OpenRun, iteration: number, at: number): IterationPage {
  const started = eventAt(log, `IterationStarted/${iteration}`, at)
  if (started?.type !== 'IterationStarted') throw noIteration(log, iteration, at)
  const ended = eventAt(log, `IterationCompleted/${iteration}`, at)
  const plan = eventAt(log, `IterationPlanned/${iteration}`, at)
  const planned = plan?.type === 'IterationPlanned' ? plan.data : { groups: [], rolloutsPerTask: 0 }
  const update = eventAt(log, `PolicyUpdated/${iteration}`, at)
  const reward = eventAt(log, `RewardModelUpdated/${iteration}`, at)
  const trained = new Set(update?.type === 'PolicyUpdated' ? update.data.trainedOn : [])
  const isPlayed = (slot: string) => eventAt(log, `RolloutRequested/${iteration}/${slot}/0`, at) !== null
  const groups = planned.groups
    .filter(({ slot, reserve }) => !reserve || isPlayed(slot))
    .map(({ slot, task, purpose, rollouts = planned.rolloutsPerTask }): GroupRow => {
      const cells = groupRollouts(log, iteration, slot, rollouts, at, trained)
      return {
        slot,
        task,
        goal: goalOf(log, slot, task),
        purpose,
        split: 'train',
        share: shareOf(cells),
        cells,
        programs: haveTests(log, cells, at),
        decision: decisionOf(log, slot, iteration, at),
      }
    })
  const until = ended?.position ?? at
  return {
    iteration,
    startedAt: started.time,
    endedAt: ended?.time ?? null,
    position: ended?.position ?? null,
    policyVersion: started.data.policyVersion,
    rewardModelVersion: started.data.rewardModelVersion,
    rolloutsPerTask: planned.rolloutsPerTask,
    groups: [...groups, ...evaluationRows(log, iteration, started.position, until, at)],
    lanes: lanes(log, started, until, iteration),
    update: pointOf(update),
    rewardUpdate: pointOf(reward),
  }
}

function noIteration(log: LogReader, iteration: number, at: number): NotHere {
  const last = log.newest(['IterationStarted'], at)
  const known =
    last?.type === 'IterationStarted' ? `the last one is ${last.data.iteration}` : 'none has begun'
  return new NotHere(`run '${log.run}' has no iteration ${iteration} at position ${at}`, {
    code: 'ui.no-iteration',
    hint: known,
    near: last?.type === 'IterationStarted' ? { path: pathOf(log.run, 'i', last.data.iteration) } : {},
  })
}

function shareOf(cells: readonly Cell[]): GroupRow['share'] {
  const played = cells.filter(({ success }) => success !== null)
  return wilson(played.filter(({ success }) => success).length, played.length)
}

export function goalOf(log: LogReader, slot: string, task: string): string | null {
  for (const event of log.byStream(`slot/${slot}`).toReversed())
    if ((event.type === 'TaskAdded' || event.type === 'TaskProposed') && event.data.task.id === task)
      return event.data.task.goal
  return null
}

/** The decision on a task: its candidate's fate, or the rewriting that it caused. */
export function decisionOf(log: LogReader, slot: string, iteration: number, at: number): string | null {
  const decided = eventAt(log, `TaskDecided/${slot}/${iteration}`, at)
  const proposed = eventAt(log, `TaskProposed/${slot}/${iteration}`, at)
  if (decided?.type === 'TaskAccepted') return `accepted: ${decided.data.reason}`
  if (decided?.type === 'TaskRejected') return `rejected: ${decided.data.reason}`
  if (proposed?.type === 'TaskProposed') return `${proposed.data.direction} task proposed`
  if (proposed?.type === 'TaskRejected') return `no ${proposed.data.direction} task: ${proposed.data.reason}`
  return null
}

/** Held-out tasks that were played in this iteration, a row each. */
function evaluationRows(
  log: LogReader,
  iteration: number,
  from: number,
  until: number,
  at: number,
): GroupRow[] {
  const rows = new Map<string, { row: Omit<GroupRow, 'share' | 'cells' | 'programs'>; cells: Cell[] }>()
  for (const { data } of log.events({ from, until: Math.min(until, at), types: ['TrajectoryCompleted'] })) {
    if (data.purpose !== 'evaluation' || data.iteration !== iteration) continue
    const name = `${data.split}/${data.slot}`
    const known = rows.get(name) ?? {
      row: {
        slot: data.slot,
        task: data.task,
        goal: goalOf(log, data.slot, data.task),
        purpose: 'evaluation',
        split: data.split,
        decision: null,
      },
      cells: [],
    }
    rows.set(name, known)
    known.cells.push({
      rollout: data.rollout,
      state: 'played',
      success: data.outcome.kind === 'scored' ? data.outcome.success : null,
      value: data.outcome.kind === 'scored' ? data.outcome.value : null,
      steps: data.steps,
      verdict: null,
      policyVersion: data.policyVersion,
      trained: false,
      ended: data.ended,
      error: null,
    })
  }
  return [...rows.values()].map(({ row, cells }) => ({
    ...row,
    share: shareOf(cells),
    cells,
    programs: haveTests(log, cells, at),
  }))
}

const LANES = [
  ['playing', ['TrajectoryCompleted', 'RolloutFailed']],
  ['judging', ['TrajectoryJudged']],
  ['policy update', ['PolicyUpdated']],
  ['reward model update', ['RewardModelUpdated']],
  ['rewriting', ['TaskProposed', 'TaskRejected']],
  ['evaluation', ['EvaluationCompleted']],
] as const

/** First and last end of each kind of work. An update has its measured length. */
function lanes(log: LogReader, started: LoggedEvent, until: number, iteration: number): Lane[] {
  return LANES.flatMap(([name, types]): Lane[] => {
    let from = Number.POSITIVE_INFINITY
    let to = 0
    let count = 0
    for (const { time, data } of log.events({ from: started.position, until, types: [...types] })) {
      if ('iteration' in data && data.iteration !== iteration) continue
      const seconds = 'timing' in data ? data.timing?.seconds : undefined
      from = Math.min(from, typeof seconds === 'number' ? time - seconds * 1000 : time)
      to = Math.max(to, time)
      count++
    }
    return count === 0 ? [] : [{ name, from: Math.max(from, started.time), to, count }]
  })
}

function pointOf(event: LoggedEvent | null): UpdatePoint | null {
  if (event?.type !== 'PolicyUpdated' && event?.type !== 'RewardModelUpdated') return null
  const { version, samples, stopped, metrics } = event.data
  return { version, samples, stopped, metrics }
}
