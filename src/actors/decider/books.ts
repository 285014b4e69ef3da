/**
 * Books of the open iterations: what their rollouts amount to so far. Most deciders keep such books of their own from the
 * log, and all reach the same figures whatever the order of arrival.
 */
import type { AdaptationConfig, EnvironmentConfig, RunConfig } from '../../config-schema/sections.ts'
import type { Direction } from '../../environments/port.ts'
import type { EventData, EventType } from '../../events/catalogue.ts'
import { adaptationNeed } from '../../learning/acceptance.ts'
import type { Tally } from '../../learning/terms.ts'
import { fold } from './fold.ts'
import type { LearnableGroup } from './jobs.ts'
import { byText } from './names.ts'

/** A rollout with an outcome. */
export type ScoredRollout = {
  readonly id: string
  readonly index: number
  readonly success: boolean
  readonly steps: number
}

export type Group = {
  readonly slot: string
  readonly task: string
  readonly purpose: 'train' | 'candidate'
  /** Rollouts that the plan asks for. */
  readonly asked: number
  /** Rollouts with an outcome, in order of arrival. */
  readonly scored: ScoredRollout[]
  successes: number
  /** Rollouts that came to an end, with an outcome or without. */
  ended: number
  judged: number
  /** Decision on a candidate. Null until decided, and for training tasks. */
  accepted: boolean | null
}

export type IterationBook = {
  readonly iteration: number
  readonly policyVersion: number
  readonly rewardModelVersion: number
  /** No iteration follows, for the run's time is over. */
  readonly last: boolean
  /** Groups by slot. Empty until planned. Those in reserve are not among them until they are drawn. */
  readonly groups: Map<string, Group>
  /** Groups that are drawn if too few of the others are mixed, in this order. */
  reserve: readonly Drawn[]
  /** Number of mixed training groups at which no more is drawn. */
  mixed: number
  planned: boolean
  /** Rollouts that the plan asks for. */
  expected: number
  ended: number
  scored: number
  judged: number
  /** Candidates that are neither accepted nor rejected. */
  undecided: number
}

/** A group of the plan before its rollouts. */
export type Drawn = Pick<Group, 'slot' | 'task' | 'purpose' | 'asked'>

/** Open iterations by number. Evaluations have no book, and iteration 0 is only an evaluation. */
export type Books = Map<number, IterationBook>

export function openBook({
  iteration,
  policyVersion,
  rewardModelVersion,
  last,
}: EventData<'IterationStarted'>): IterationBook {
  return {
    iteration,
    policyVersion,
    rewardModelVersion,
    last: last === true,
    groups: new Map(),
    reserve: [],
    mixed: 0,
    planned: false,
    expected: 0,
    ended: 0,
    scored: 0,
    judged: 0,
    undecided: 0,
  }
}

export function enterPlan(book: IterationBook, plan: EventData<'IterationPlanned'>): void {
  book.planned = true
  const planned = plan.groups.map(
    ({ slot, task, purpose, reserve, rollouts: asked = plan.rolloutsPerTask }) => ({
      group: { slot, task, purpose, asked },
      reserve: reserve === true,
    }),
  )
  for (const { group, reserve } of planned) if (!reserve) expectGroup(book, group)
  book.reserve = planned.flatMap(({ group, reserve }) => (reserve ? [group] : []))
  book.mixed = planned.filter(({ group, reserve }) => !reserve && group.purpose === 'train').length
}

function expectGroup(book: IterationBook, planned: Drawn): void {
  const { slot, task, purpose, asked } = planned
  book.expected += asked
  book.groups.set(slot, {
    slot,
    task,
    purpose,
    asked,
    scored: [],
    successes: 0,
    ended: 0,
    judged: 0,
    accepted: null,
  })
  if (purpose === 'candidate') book.undecided++
}

/**
 * Draws as many groups from the reserve as mixed groups are missing, once all rollouts are over (DAPO, 2503.14476). Mixed groups
 * have both successes and failures. The order in which rollouts ended does not count.
 */
function drawReserve(book: IterationBook): readonly Drawn[] {
  if (book.reserve.length === 0 || book.ended < book.expected) return []
  const mixed = [...book.groups.values()].filter(isMixed).length
  const drawn = book.reserve.slice(0, Math.max(0, book.mixed - mixed))
  book.reserve = book.reserve.slice(drawn.length)
  for (const planned of drawn) expectGroup(book, planned)
  return drawn
}

function isMixed({ purpose, successes, scored }: Group): boolean {
  return purpose === 'train' && successes > 0 && successes < scored.length
}

type Ended = EventData<'TrajectoryCompleted'> | EventData<'RolloutFailed'>

/**
 * Enters a rollout that ended. A rollout that failed, or whose outcome is abstained, leaves its group. Returns the groups that are
 * drawn from the reserve now: their rollouts are to be played.
 */
export function enterRollout(book: IterationBook, rollout: Ended): readonly Drawn[] {
  const group = book.groups.get(rollout.slot)
  if (!group) return []
  group.ended++
  book.ended++
  if ('outcome' in rollout && rollout.outcome.kind === 'scored') {
    const { success } = rollout.outcome
    group.scored.push({ id: rollout.rollout, index: rollout.index, success, steps: rollout.steps })
    if (success) group.successes++
    book.scored++
  }
  return drawReserve(book)
}

/** Enters that all steps of a rollout are judged. */
export function enterJudged(book: IterationBook, slot: string): void {
  const group = book.groups.get(slot)
  if (!group) return
  group.judged++
  book.judged++
}

/** Enters that a candidate was accepted or rejected. */
export function enterDecision(book: IterationBook, slot: string, accepted: boolean): void {
  const group = book.groups.get(slot)
  if (group?.purpose !== 'candidate' || group.accepted !== null) return
  group.accepted = accepted
  book.undecided--
}

/** Returns the open book of a training rollout. Rollouts of an evaluation have none. */
export function bookOf(
  books: Books,
  { purpose, iteration }: Pick<Ended, 'purpose' | 'iteration'>,
): IterationBook | undefined {
  return purpose === 'evaluation' ? undefined : books.get(iteration)
}

/** Returns true if all rollouts of a group are over. */
export function groupOver(group: Group): boolean {
  return group.ended === group.asked
}

/**
 * Returns true if all is known of a group of tasks for training. Its rollouts are over and, if there is a judge,
 * judged.
 */
export function groupKnown(group: Group, judging: boolean): boolean {
  if (group.purpose !== 'train' || !groupOver(group)) return false
  return !judging || group.judged === group.scored.length
}

/** Returns true if all rollouts of the iteration are over. */
export function rolloutsOver(book: IterationBook): boolean {
  return book.planned && book.ended === book.expected
}

/** Returns true if nothing that training needs is missing: outcomes, decisions and, if there is a judge, verdicts. */
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

function rolloutsOf({ scored }: Group): string[] {
  return inOrder(scored).map(({ id }) => id)
}

export function inOrder(scored: readonly ScoredRollout[]): ScoredRollout[] {
  return [...scored].sort((a, b) => a.index - b.index)
}

/** The part of a config that says when a task needs a candidate. */
export type NeedConfig = {
  readonly adaptation: AdaptationConfig
  readonly environment: EnvironmentConfig
  readonly run: RunConfig
}

/**
 * Returns what the adapter is to make of a group whose rollouts are over, or null for nothing. In the last iteration it
 * is nothing: no candidate could be measured. The head counts what it has to wait for by the same rule, at the same
 * event.
 */
export function needOf(
  book: IterationBook,
  group: Group,
  { adaptation, environment, run }: NeedConfig,
): Direction | null {
  if (!adaptation.enabled || book.last || book.iteration >= run.iterations) return null
  if (group.purpose !== 'train' || group.scored.length < environment.minGroupSize) return null
  return adaptationNeed(tallyOf(group), { harderAt: adaptation.high, easierAt: adaptation.low })
}

type WithBooks = { readonly books: Books }

/** The named actions, for `setup`. A book that is closed already takes no more entries. */
export function bookkeeping<Context extends WithBooks>() {
  return {
    openBook: fold('IterationStarted', ({ books }: Context, started) => {
      if (started.iteration > 0) books.set(started.iteration, openBook(started))
    }),
    enterPlan: fold('IterationPlanned', ({ books }: Context, plan) => {
      const book = books.get(plan.iteration)
      if (book) enterPlan(book, plan)
    }),
    enterRollout: fold(['TrajectoryCompleted', 'RolloutFailed'], ({ books }: Context, rollout) => {
      const book = bookOf(books, rollout)
      if (book) enterRollout(book, rollout)
    }),
    enterJudged: fold('TrajectoryJudged', ({ books }: Context, judged) => {
      const book = bookOf(books, judged)
      if (book) enterJudged(book, judged.slot)
    }),
    enterDecision: fold(
      ['TaskAccepted', 'TaskRejected'],
      ({ books }: Context, { iteration, slot, task }, { type }) => {
        const book = task === null ? undefined : books.get(iteration)
        if (book) enterDecision(book, slot, type === 'TaskAccepted')
      },
    ),
  }
}

/** The transitions that go with them. */
export const BOOK_ENTRIES = {
  IterationStarted: { actions: 'openBook' },
  IterationPlanned: { actions: 'enterPlan' },
  TrajectoryCompleted: { actions: 'enterRollout' },
  RolloutFailed: { actions: 'enterRollout' },
  TrajectoryJudged: { actions: 'enterJudged' },
  TaskAccepted: { actions: 'enterDecision' },
  TaskRejected: { actions: 'enterDecision' },
} as const

export const BOOK_EVENTS = Object.keys(BOOK_ENTRIES) as readonly (keyof typeof BOOK_ENTRIES & EventType)[]
