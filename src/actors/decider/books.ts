/**
 * What an iteration's rollouts amount to so far, as a fold of the log: every decider keeps such books, and all reach the
 * same figures whatever the order of arrival.
 */
import type { Config } from '../../config.ts'
import type { Direction } from '../../environments/port.ts'
import type { EventData } from '../../events/catalogue.ts'
import { adaptationNeed } from '../../learning/acceptance.ts'
import type { Tally } from '../../learning/filters.ts'
import type { LearnableGroup } from './jobs.ts'
import { byText } from './names.ts'

/** A rollout with an outcome. */
export type Scored = {
  readonly id: string
  readonly index: number
  readonly success: boolean
  readonly steps: number
}

export type Group = {
  readonly slot: string
  readonly task: string
  readonly purpose: 'train' | 'candidate'
  /** In order of arrival. */
  readonly scored: Scored[]
  successes: number
  /** Rollouts that came to an end, with an outcome or without. */
  ended: number
  judged: number
  /** Of a candidate; null until decided, and for training tasks. */
  accepted: boolean | null
}

export type IterationBook = {
  readonly iteration: number
  readonly policyVersion: number
  readonly rewardModelVersion: number
  /** By slot; empty until planned. */
  readonly groups: Map<string, Group>
  planned: boolean
  /** Rollouts that the plan asks for. */
  expected: number
  rolloutsPerTask: number
  ended: number
  scored: number
  judged: number
  /** Candidates that are neither accepted nor rejected. */
  undecided: number
}

export function openBook({
  iteration,
  policyVersion,
  rewardModelVersion,
}: EventData<'IterationStarted'>): IterationBook {
  return {
    iteration,
    policyVersion,
    rewardModelVersion,
    groups: new Map(),
    planned: false,
    expected: 0,
    rolloutsPerTask: 0,
    ended: 0,
    scored: 0,
    judged: 0,
    undecided: 0,
  }
}

export function enterPlan(book: IterationBook, plan: EventData<'IterationPlanned'>): void {
  book.planned = true
  book.rolloutsPerTask = plan.rolloutsPerTask
  book.expected = plan.groups.length * plan.rolloutsPerTask
  for (const { slot, task, purpose } of plan.groups) {
    book.groups.set(slot, {
      slot,
      task,
      purpose,
      scored: [],
      successes: 0,
      ended: 0,
      judged: 0,
      accepted: null,
    })
    if (purpose === 'candidate') book.undecided++
  }
}

/** Enters a trajectory; an abstained outcome ends its rollout without one. Returns its group. */
export function enterTrajectory(
  book: IterationBook,
  { slot, rollout, index, outcome, steps }: EventData<'TrajectoryCompleted'>,
): Group | undefined {
  const group = enterEnd(book, slot)
  if (!group || outcome.kind !== 'scored') return group
  group.scored.push({ id: rollout, index, success: outcome.success, steps })
  if (outcome.success) group.successes++
  book.scored++
  return group
}

/** A rollout without an outcome leaves its group. */
export function enterFailure(book: IterationBook, { slot }: EventData<'RolloutFailed'>): Group | undefined {
  return enterEnd(book, slot)
}

function enterEnd(book: IterationBook, slot: string): Group | undefined {
  const group = book.groups.get(slot)
  if (!group) return undefined
  group.ended++
  book.ended++
  return group
}

export function enterJudged(book: IterationBook, slot: string): Group | undefined {
  const group = book.groups.get(slot)
  if (!group) return undefined
  group.judged++
  book.judged++
  return group
}

export function enterDecision(book: IterationBook, slot: string, accepted: boolean): void {
  const group = book.groups.get(slot)
  if (group?.purpose !== 'candidate' || group.accepted !== null) return
  group.accepted = accepted
  book.undecided--
}

/** All rollouts of a group are over. */
export function groupOver(book: IterationBook, group: Group): boolean {
  return group.ended === book.rolloutsPerTask
}

/** All rollouts of the iteration are over. */
export function rolloutsOver(book: IterationBook): boolean {
  return book.planned && book.ended === book.expected
}

/** Nothing that training needs is missing: outcomes, decisions and, where there is a judge, verdicts. */
export function readyToLearn(book: IterationBook, judging: boolean): boolean {
  return rolloutsOver(book) && book.undecided === 0 && (!judging || book.judged === book.scored)
}

export function tallyOf({ successes, scored }: Group): Tally {
  return { successes, n: scored.length }
}

/** Active and accepted tasks with enough rollouts left, in canonical order. */
export function learnableGroups(book: IterationBook, minGroupSize: number): LearnableGroup[] {
  return [...book.groups.values()]
    .filter(
      (group) =>
        (group.purpose === 'train' || group.accepted === true) && group.scored.length >= minGroupSize,
    )
    .sort((a, b) => byText(a.slot, b.slot))
    .map((group) => ({
      slot: group.slot,
      task: group.task,
      purpose: group.purpose,
      accuracy: tallyOf(group),
      rollouts: rolloutsOf(group),
    }))
}

export function rolloutsOf({ scored }: Group): string[] {
  return inOrder(scored).map(({ id }) => id)
}

export function inOrder(scored: readonly Scored[]): Scored[] {
  return [...scored].sort((a, b) => a.index - b.index)
}

/**
 * What the adapter is to make of a group whose rollouts are over; null for nothing. In the last iteration nothing: no
 * candidate could be measured. The head counts by the same rule what it has to wait for.
 */
export function needOf(book: IterationBook, group: Group, config: Config): Direction | null {
  const { adaptation, environment, run } = config
  if (!adaptation.enabled || book.iteration >= run.iterations) return null
  if (group.purpose !== 'train' || group.scored.length < environment.minGroupSize) return null
  return adaptationNeed(tallyOf(group), { harderAt: adaptation.high, easierAt: adaptation.low })
}
