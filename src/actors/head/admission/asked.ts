/**
 * Facts that a run asks for and does not have yet. This fold of the log enters each event as the roles' deciders do. So
 * it knows what each decider waits for, and which event asked for it. It holds only what is open.
 */
import { type Config, loggedConfig } from '../../../config.ts'
import type { EventData, EventType, LoggedEvent } from '../../../events/catalogue.ts'
import type { Role } from '../../../events/envelope.ts'
import type { LogReader } from '../../../events/log-reader.ts'
import {
  enterDecision,
  enterJudged,
  enterPlan,
  enterRollout,
  groupKnown,
  type IterationBook,
  needOf,
  openBook,
  readyToLearn,
  tallyOf,
} from '../../decider/books.ts'
import { countTask, evaluationDue, type TaskCounts } from '../../decider/task-counts.ts'
import { budgetSection } from '../../learner/call-budget.ts'
import type { ModelRole } from '../../learner/checkpoints.ts'
import { VERSION_EVENTS } from '../../learner/version-events.ts'
import {
  closeMember,
  enterEnd,
  enterScored,
  judgeHeld,
  noJudgements,
  type OpenJudgements,
} from './judgements.ts'

/** The next version of a model, which is to be made now. */
export type DueVersion = {
  readonly version: number
  /** Id of the event that asked for it. */
  readonly cause: string
  /** Id of its BatchReady, if an outside trainer is asked. */
  batch: string | null
}

type OpenRollout = {
  /** Id of its RolloutRequested. */
  readonly id: string
  readonly request: EventData<'RolloutRequested'>
  /** Number of its screens in the log. Null if there are none. */
  frames: number | null
}

type DueRewrite = Pick<
  EventData<'TaskProposed'>,
  'iteration' | 'slot' | 'parent' | 'direction' | 'parentAccuracy'
> & { readonly cause: string }

/** A split under measurement in an iteration. */
type OpenMeasurement = { requested: number; ended: number }

type OpenIteration = {
  readonly book: IterationBook
  /** Id of its IterationStarted. */
  readonly started: string
  /**
   * Rollouts of each task in a measurement of the iteration, by the config at the time of that decision. Null if it is
   * not measured.
   */
  measuredBy: number | null
  /** By slot, the event by which a group was drawn from the reserve of the plan. */
  readonly drawnBy: Map<string, string>
}

export type Asked = {
  /**
   * The config that holds now. Null before the run begins, and for a log that holds no config: then nobody knows what
   * is asked for.
   */
  config: Config | null
  /** Id of the RunStarted that the log begins with. */
  begun: string | null
  /** True if the log is that of a fork: its config has changed on the way. */
  forked: boolean
  over: boolean
  readonly taskCounts: TaskCounts
  /** Newest version of each role. It is -1 before the first. */
  readonly versions: Record<ModelRole, number>
  readonly due: Record<ModelRole, DueVersion | null>
  readonly iterations: Map<number, OpenIteration>
  readonly rollouts: Map<string, OpenRollout>
  readonly judgements: OpenJudgements
  /** Due rewrites, by the natural key of the answer. */
  readonly rewrites: Map<string, DueRewrite>
  /** Open measurements, by iteration and split, e.g. `3/in-domain`. */
  readonly measurements: Map<string, OpenMeasurement>
  /** Lots of calls that each role took, and calls that were taken of each budget. */
  readonly lots: Map<Role, number>
  readonly calls: Map<string, number>
}

export function nothingAsked(): Asked {
  return {
    config: null,
    begun: null,
    forked: false,
    over: false,
    taskCounts: new Map(),
    versions: { policy: -1, 'reward-model': -1 },
    due: { policy: null, 'reward-model': null },
    iterations: new Map(),
    rollouts: new Map(),
    judgements: noJudgements(),
    rewrites: new Map(),
    measurements: new Map(),
    lots: new Map(),
    calls: new Map(),
  }
}

type Seen = Pick<LoggedEvent, 'id'>
type Enter<T extends EventType> = (asked: Asked, data: EventData<T>, event: Seen) => void
type Entries = { readonly [T in EventType]?: Enter<T> }

const ENTRIES: Entries = {
  RunStarted(asked, { config, parent }, { id }) {
    asked.config = configOf(config)
    asked.forked ||= parent !== null
    if (asked.begun !== null) return
    asked.begun = id
    asked.due.policy = { version: 0, cause: id, batch: null }
    if (asked.config?.rewardModel.mode === 'off')
      asked.due['reward-model'] = { version: 0, cause: id, batch: null }
  },
  RunCompleted(asked) {
    asked.over = true
  },
  TaskAdded: (asked, added) => countTask(asked.taskCounts, added),
  IterationStarted(asked, started, { id }) {
    const { iteration } = started
    const measuredBy = iteration === 0 ? measuring(asked, 0, false) : null
    asked.iterations.set(iteration, { book: openBook(started), started: id, measuredBy, drawnBy: new Map() })
  },
  IterationPlanned(asked, plan) {
    const open = asked.iterations.get(plan.iteration)
    if (open) enterPlan(open.book, plan)
  },
  IterationCompleted(asked, { iteration }) {
    asked.iterations.delete(iteration)
  },
  RolloutRequested(asked, request, { id }) {
    asked.rollouts.set(request.rollout, { id, request, frames: null })
    if (request.purpose !== 'evaluation') return
    const name = `${request.iteration}/${request.split}`
    const measured = asked.measurements.get(name) ?? { requested: 0, ended: 0 }
    measured.requested++
    asked.measurements.set(name, measured)
  },
  FramesRecorded(asked, { rollout, frames }) {
    const open = asked.rollouts.get(rollout)
    if (open) open.frames = frames.length
  },
  TrajectoryCompleted: enterEnded,
  RolloutFailed: enterEnded,
  StepScored: ({ judgements }, scored) => enterScored(judgements, scored),
  TrajectoryJudged(asked, judged, { id }) {
    closeMember(asked.judgements, judged.rollout)
    const book = bookOf(asked, judged)
    if (!book) return
    enterJudged(book, judged.slot)
    askForRewrite(asked, book, judged.slot, id)
  },
  EvaluationCompleted(asked, { iteration, split }) {
    asked.measurements.delete(`${iteration}/${split}`)
  },
  TaskProposed(asked, { slot, iteration }) {
    asked.rewrites.delete(rewriteKey(slot, iteration))
  },
  TaskAccepted: (asked, { slot, iteration }) => decide(asked, iteration, slot, true),
  TaskRejected(asked, { slot, iteration, task }) {
    if (task === null) asked.rewrites.delete(rewriteKey(slot, iteration))
    else decide(asked, iteration, slot, false)
  },
  PolicyUpdated(asked, { version, last = false }, { id }) {
    adopt(asked, 'policy', version)
    const open = asked.iterations.get(version)
    if (open && version > 0) open.measuredBy = measuring(asked, version, last || open.book.last)
    // The judge starts from the policy's first version.
    if (asked.versions['reward-model'] < 0)
      asked.due['reward-model'] ??= { version: 0, cause: id, batch: null }
  },
  RewardModelUpdated(asked, { version }, { id }) {
    adopt(asked, 'reward-model', version)
    judgeHeld(asked.judgements, version, id)
  },
  // A batch in the log asks for its version, whoever handed the batch out.
  BatchReady({ due }, { role, version }, { id }) {
    const name = role ?? 'policy'
    const open = due[name]
    if (open?.version === version) open.batch ??= id
    else due[name] = { version, cause: id, batch: id }
  },
  CallsReserved({ lots, calls: taken }, { role, calls }) {
    lots.set(role, (lots.get(role) ?? 0) + 1)
    const section = budgetSection(role)
    if (section !== null) taken.set(section, (taken.get(section) ?? 0) + calls)
  },
}

/** After these something may be due that was not before. */
const LEADING: ReadonlySet<EventType> = new Set([
  'RunStarted',
  'IterationStarted',
  'IterationPlanned',
  'TrajectoryCompleted',
  'RolloutFailed',
  'TrajectoryJudged',
  'TaskAccepted',
  'TaskRejected',
  'PolicyUpdated',
  'RewardModelUpdated',
])

export function enter<T extends EventType>(asked: Asked, type: T, data: EventData<T>, event: Seen): void {
  const entry = ENTRIES[type] as Enter<T> | undefined
  entry?.(asked, data, event)
  if (!LEADING.has(type)) return
  for (const role of MODELS) askForVersion(asked, role, event.id)
}

const MODELS: readonly ModelRole[] = ['policy', 'reward-model']

/** Types that are read from the first event on. All other events belong to iterations that are not completed. */
const COUNTED = ['RunStarted', 'RunCompleted', 'TaskAdded', 'CallsReserved'] as const

/**
 * Returns what is open at the end of a log. In a run of many iterations it reads only the events since the oldest open
 * one.
 */
export function askedBy(log: LogReader): Asked {
  const asked = nothingAsked()
  const completed = log.newest(['IterationCompleted']) as LoggedEvent<'IterationCompleted'> | null
  const from = completed
    ? (log.positionOf('key', `IterationStarted/${completed.data.iteration + 1}`) ?? completed.position + 1)
    : 1
  if (from > 1) {
    for (const { type, data, id } of log.events({ types: COUNTED, until: from - 1 }))
      enter(asked, type, data, { id })
    for (const role of MODELS) {
      const newest = log.newest(
        [VERSION_EVENTS[role].updated],
        from - 1,
      ) as LoggedEvent<'PolicyUpdated'> | null
      if (newest) adopt(asked, role, newest.data.version)
    }
  }
  const types = Object.keys(ENTRIES) as EventType[]
  for (const { type, data, id } of log.events({ types, from })) enter(asked, type, data, { id })
  return asked
}

/** Returns null if the values are no config, as in a log that was made by hand. */
export function configOf(values: Record<string, unknown>): Config | null {
  if (Object.keys(values).length === 0) return null
  try {
    return loggedConfig(values)
  } catch {
    return null
  }
}

/** Returns the open book of a rollout, unless it belongs to an evaluation. */
function bookOf(
  { iterations }: Asked,
  { purpose, iteration }: { readonly purpose: string; readonly iteration: number },
): IterationBook | undefined {
  return purpose === 'evaluation' ? undefined : iterations.get(iteration)?.book
}

/** Natural key of the answer to a rewrite, TaskProposed or a TaskRejected without a task. */
export function rewriteKey(slot: string, iteration: number): string {
  return `TaskProposed/${slot}/${iteration}`
}

function enterEnded(
  asked: Asked,
  ended: EventData<'TrajectoryCompleted'> | EventData<'RolloutFailed'>,
  { id }: Seen,
): void {
  const { rollout, iteration, slot, purpose } = ended
  const request = asked.rollouts.get(rollout)?.request
  asked.rollouts.delete(rollout)
  const measured = purpose === 'evaluation' && asked.measurements.get(`${iteration}/${request?.split}`)
  if (measured) measured.ended++
  const book = bookOf(asked, ended)
  const drawn = book ? enterRollout(book, ended) : []
  for (const one of drawn) asked.iterations.get(iteration)?.drawnBy.set(one.slot, id)
  if (asked.config) enterEnd(asked.judgements, ended, book, asked.config, asked.versions['reward-model'], id)
  if (book) askForRewrite(asked, book, slot, id)
}

/** Decides as the environment's decider does. A later fork may have another config, but the decision stays. */
function measuring({ config }: Asked, iteration: number, last: boolean): number | null {
  if (config === null) return null
  const { run, evaluation } = config
  return evaluationDue(iteration, run, evaluation, last) ? evaluation.rollouts : null
}

function decide(asked: Asked, iteration: number, slot: string, accepted: boolean): void {
  const book = asked.iterations.get(iteration)?.book
  if (book) enterDecision(book, slot, accepted)
}

function adopt(asked: Asked, role: ModelRole, version: number): void {
  asked.versions[role] = version
  asked.due[role] = null
}

/** Asks as the model's decider does: when nothing is missing for the next iteration. */
function askForVersion(asked: Asked, role: ModelRole, cause: string): void {
  if (asked.config === null || asked.due[role] !== null || asked.versions[role] < 0) return
  const version = asked.versions[role] + 1
  const book = asked.iterations.get(version)?.book
  if (book && readyToLearn(book, asked.config.rewardModel.mode !== 'off'))
    asked.due[role] = { version, cause, batch: null }
}

/** Asks as the adapter's decider does: when a group is known whole and its task is too easy or too hard. */
function askForRewrite({ config, rewrites }: Asked, book: IterationBook, slot: string, cause: string): void {
  const group = book.groups.get(slot)
  if (!config || !group || !groupKnown(group, config.rewardModel.mode !== 'off')) return
  const direction = needOf(book, group, config)
  if (direction === null) return
  const { iteration } = book
  rewrites.set(rewriteKey(slot, iteration), {
    iteration,
    slot,
    parent: group.task,
    direction,
    cause,
    parentAccuracy: tallyOf(group),
  })
}
