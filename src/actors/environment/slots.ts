/** The task set as the environment's decider sees it: active tasks, candidates, and tasks that are set aside. */
import type { AdaptationConfig, RulesConfig } from '../../config-schema/sections.ts'
import type { Task } from '../../environments/port.ts'
import type { EventData } from '../../events/catalogue.ts'
import { chooseSlots } from '../../learning/choose-slots.ts'
import { inPhase, phaseOf } from '../../learning/phases.ts'
import { rulesOf } from '../../learning/registry.ts'
import type { OpenSlot, TaskSampler } from '../../learning/rules.ts'
import type { Tally } from '../../learning/terms.ts'
import { rng, seedOf } from '../../random.ts'
import { type Group, type IterationBook, tallyOf } from '../decider/books.ts'
import type { Output } from '../decider/decider.ts'
import { emitEvent } from '../decider/fold.ts'
import { addedSlotName, byText } from '../decider/names.ts'

export type Candidate = Pick<EventData<'TaskProposed'>, 'parent' | 'direction' | 'parentAccuracy'> & {
  readonly task: string
  readonly about?: About
}

/** Facts of a task that rules of what is played read. */
export type About = { readonly kind: string; readonly level: number | null }

export function aboutTask({ kind, recipe }: Pick<Task, 'kind' | 'recipe'>): About {
  const { level } = recipe
  return { kind, level: typeof level === 'number' && Number.isFinite(level) ? level : null }
}

type Slot = {
  /** Id of the task that is played. */
  active: string
  candidate: Candidate | null
  /** Groups of the active task that lost too many rollouts. */
  strikes: number
  /** Tally of the active task's last group. */
  last: Tally | null
  /** Tallies of the active task's last groups, the oldest first. */
  history: Tally[]
  /** Steps of the active task's longest success. */
  longestSuccess: number | null
  /** Kind and level of the active task. Null if nobody told. */
  about: About | null
  /** Newest success of the active task, if runs begin inside of them. Of one iteration it is the first by name. */
  success: { readonly rollout: string; readonly steps: number } | null
  /** Complaint about the newest failed group of the active task, if hints are given. */
  complaint: { readonly rollout: string; readonly text: string } | null
  /** Whether actions of others in the active task are known. */
  traced: boolean
  /** Iteration that plays this slot and is not over, else null. */
  busy: number | null
}

export type Slots = Map<string, Slot>

/** A group whose rollouts are over. */
export type PlayedGroup = {
  readonly book: IterationBook
  readonly group: Group
  /** Decision on a candidate, once it is weighed. */
  readonly decision: Decision | null
}

type Decision = { readonly accepted: boolean; readonly reason: string }
export type PlannedGroup = EventData<'IterationPlanned'>['groups'][number]

/**
 * Returns the groups of an iteration in order of their slots. They are every waiting candidate, and training tasks
 * drawn by seed. Then come those in reserve. A slot is not drawn if it has a candidate, is still played by an earlier iteration, or is set aside.
 *
 * @param seed that of the run
 */
export function planIteration(
  slots: Slots,
  iteration: number,
  config: RulesConfig,
  seed: number,
): PlannedGroup[] {
  const { environment, adaptation } = config
  const candidates: PlannedGroup[] = []
  const open: OpenSlot[] = []
  for (const [name, slot] of slots) {
    const { candidate, strikes, busy } = slot
    const free = busy === null
    if (candidate && free) candidates.push({ slot: name, task: candidate.task, purpose: 'candidate' })
    if (!candidate && free && strikes < environment.expert.quarantineAfter) open.push(openSlot(name, slot))
  }
  // Decisions come in any order. The draw must not depend on it.
  open.sort((a, b) => byText(a.slot, b.slot))
  const { tasksPerIteration } = environment
  const count = Math.max(0, tasksPerIteration - (adaptation.candidates === 'within' ? candidates.length : 0))
  const given = { count, seed: seedOf(seed, 'select', iteration), iteration }
  const phase = phaseOf(config.run?.phases, iteration)
  const again = environment.hints ? hintedSlots(slots, open).slice(0, Math.floor(count / 2)) : []
  const rest = inPhase(open, phase).filter(({ slot }) => !again.includes(slot))
  const asked = { ...given, count: count - again.length }
  const { taskSampler } = rulesOf(config)
  const chosen = [...again, ...chooseSlots(taskSampler, rest, asked)]
  const left = rest.filter(({ slot }) => !chosen.includes(slot))
  const train = (slot: string) => ({ slot, task: slots.get(slot)!.active, purpose: 'train' as const })
  const groups: PlannedGroup[] = [
    ...[...candidates, ...chosen.map(train)].sort((a, b) => byText(a.slot, b.slot)),
    ...reserveOf(left, given, environment.refill ?? 1, taskSampler).map((slot) => ({
      ...train(slot),
      reserve: true as const,
    })),
  ]
  for (const { slot } of groups) slots.get(slot)!.busy = iteration
  return groups
}

/** Returns slots in reserve, in the order in which they are drawn. The sampler chooses them among those that it left. */
function reserveOf(
  left: readonly OpenSlot[],
  { count, seed, iteration }: Parameters<TaskSampler['choose']>[1],
  refill: number,
  sampler: TaskSampler,
): readonly string[] {
  const own = seedOf(seed, 'reserve')
  const asked = { count: Math.floor(count * (refill - 1)), seed: own, iteration }
  if (asked.count === 0) return []
  const orderOf = (slot: string) => rng(seedOf(own, slot)).uniform()
  return chooseSlots(sampler, left, asked)
    .map((slot) => ({ slot, order: orderOf(slot) }))
    .sort((a, b) => a.order - b.order || byText(a.slot, b.slot))
    .map(({ slot }) => slot)
}

/** Returns the open slots whose task nobody solved, and about which a complaint is known. */
function hintedSlots(slots: Slots, open: readonly OpenSlot[]): readonly string[] {
  return open.flatMap(({ slot }) => (slots.get(slot)?.complaint ? [slot] : [])).sort(byText)
}

/** A slot whose task was not played. */
export function newSlot(active: string, about: About | null = null, traced = false): Slot {
  return {
    ...{ active, candidate: null, strikes: 0, last: null },
    ...{ history: [], longestSuccess: null, busy: null },
    ...{ about, traced, success: null, complaint: null },
  }
}

/** Most tallies that a slot remembers. */
const MOST_HISTORY = 16

/** Returns a slot as rules of what is played see it. */
function openSlot(name: string, { active, last, history, longestSuccess, about }: Slot): OpenSlot {
  return { slot: name, task: active, last, history: [...history], longestSuccess, ...about }
}

/** Returns a planned group's slot as such rules see it. Nothing is known of a candidate. */
export function plannedSlot(slots: Slots, { slot, task, purpose }: PlannedGroup): OpenSlot {
  return purpose === 'candidate'
    ? { slot, task, last: null, history: [], longestSuccess: null }
    : openSlot(slot, slots.get(slot)!)
}

/** Enters what the rollouts of the active task came to. */
export function enterGroup(slot: Slot, group: Group): void {
  const tally = tallyOf(group)
  const lengths = group.scored.flatMap(({ success, steps }) => (success ? [steps] : []))
  slot.last = tally
  slot.history = [...slot.history, tally].slice(-MOST_HISTORY)
  // A task that was solved needs no hint.
  if (tally.successes > 0) slot.complaint = null
  if (lengths.length > 0) slot.longestSuccess = Math.max(slot.longestSuccess ?? 0, ...lengths)
}

/** The rule by which a measured candidate takes its slot. `asked`: rollouts that its group was to have. */
export function decisionOn(
  { task, parent, direction, parentAccuracy }: Candidate,
  accuracy: Tally,
  asked: number,
  config: RulesConfig,
): Decision {
  if (accuracy.n < config.environment.minGroupSize)
    return { accepted: false, reason: `only ${accuracy.n} of ${asked} rollouts had an outcome` }
  const { low, high, evidence } = config.adaptation
  const { confidence, prior } = config.adaptation.expert
  return rulesOf(config).acceptance.decide(
    { direction, accuracy, parentAccuracy, equalsParent: task === parent },
    { low, high, evidence, confidence, prior },
  )
}

/** Returns the rule's decision on a candidate whose rollouts are over. */
export function decisionOnGroup(slots: Slots, { group }: PlayedGroup, config: RulesConfig): Decision {
  return decisionOn(slots.get(group.slot)!.candidate!, tallyOf(group), group.asked, config)
}

/** The candidate takes its slot, or a slot beside its parent's (`adaptation.accepted`). */
export function acceptCandidate(slots: Slots, played: PlayedGroup, adaptation: AdaptationConfig): Output {
  const slot = slots.get(played.group.slot)!
  const accepted = decisionEvent('TaskAccepted', slots, played, adaptation)
  if (adaptation.accepted === 'add') {
    const added = newSlot(slot.candidate!.task)
    enterGroup(added, played.group)
    slots.set(addedSlotName(played.group.slot, played.book.iteration), added)
    slot.candidate = null
    slot.busy = null
    return accepted
  }
  slot.active = slot.candidate!.task
  slot.about = slot.candidate!.about ?? null
  slot.traced = false
  slot.success = null
  slot.complaint = null
  slot.history = []
  slot.longestSuccess = null
  enterGroup(slot, played.group)
  slot.strikes = 0
  slot.candidate = null
  slot.busy = null
  return accepted
}

/** The candidate is dropped: its parent keeps the slot. */
export function rejectCandidate(slots: Slots, played: PlayedGroup, adaptation: AdaptationConfig): Output {
  const slot = slots.get(played.group.slot)!
  const rejected = decisionEvent('TaskRejected', slots, played, adaptation)
  slot.candidate = null
  slot.busy = null
  return rejected
}

function decisionEvent(
  type: 'TaskAccepted' | 'TaskRejected',
  slots: Slots,
  played: PlayedGroup,
  { low, high }: AdaptationConfig,
): Output {
  const { book, group, decision } = played
  const { task, parent, direction, parentAccuracy } = slots.get(group.slot)!.candidate!
  return emitEvent(type, {
    iteration: book.iteration,
    slot: group.slot,
    task,
    parent,
    direction,
    accuracy: tallyOf(group),
    parentAccuracy,
    thresholds: { low, high },
    reason: decision!.reason,
  })
}
