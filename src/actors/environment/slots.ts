/** The task set as the environment's decider sees it: who holds which slot, who waits for it, and who is set aside. */
import type { Config } from '../../config.ts'
import type { EventData } from '../../events/catalogue.ts'
import { decideAcceptance } from '../../learning/acceptance.ts'
import type { Tally } from '../../learning/filters.ts'
import { selectSlots } from '../../learning/selection.ts'
import { seedOf } from '../../random.ts'
import { type Group, type IterationBook, tallyOf } from '../decider/books.ts'
import { emitEvent } from '../decider/fold.ts'
import { byText } from '../decider/names.ts'

export type Candidate = Pick<EventData<'TaskProposed'>, 'parent' | 'direction' | 'parentAccuracy'> & {
  readonly task: string
}

export type Slot = {
  /** Id of the task that is played. */
  active: string
  candidate: Candidate | null
  /** Groups of the active task that lost too many rollouts. */
  strikes: number
  /** Iteration that plays this slot and is not over, else null. */
  busy: number | null
}

export type Slots = Map<string, Slot>

type Planned = EventData<'IterationPlanned'>['groups'][number]

/**
 * The groups of an iteration: every waiting candidate, and training tasks drawn by seed among the slots that have none, are
 * not still played by an earlier iteration and are not set aside. In order of their slots.
 */
export function planIteration(
  slots: Slots,
  iteration: number,
  { run, environment, adaptation }: Config,
): Planned[] {
  const candidates: Planned[] = []
  const closed = new Set<string>()
  for (const [slot, { candidate, strikes, busy }] of slots) {
    const free = busy === null
    if (candidate && free) candidates.push({ slot, task: candidate.task, purpose: 'candidate' })
    if (candidate || !free || strikes >= environment.quarantineAfter) closed.add(slot)
  }
  const chosen = selectSlots([...slots.keys()], {
    pending: closed,
    count: Math.max(
      0,
      environment.tasksPerIteration - (adaptation.candidates === 'within' ? candidates.length : 0),
    ),
    seed: seedOf(run.seed, 'select', iteration),
  })
  const groups = [
    ...candidates,
    ...chosen.map((slot): Planned => ({ slot, task: slots.get(slot)!.active, purpose: 'train' })),
  ].sort((a, b) => byText(a.slot, b.slot))
  for (const { slot } of groups) slots.get(slot)!.busy = iteration
  return groups
}

/** A group whose rollouts are over: a training task may be struck, a candidate takes its slot or is dropped. */
export function closeGroup(slots: Slots, book: IterationBook, group: Group, config: Config) {
  const slot = slots.get(group.slot)!
  slot.busy = null
  if (group.purpose === 'candidate') return decideCandidate(slot, book, group, config)
  slot.strikes = group.scored.length < config.environment.minGroupSize ? slot.strikes + 1 : 0
  return null
}

/** The rule by which a measured candidate takes its slot. `asked`: rollouts that its group was to have. */
export function decisionOn(
  { task, parent, direction, parentAccuracy }: Candidate,
  accuracy: Tally,
  asked: number,
  { adaptation, environment }: Pick<Config, 'adaptation' | 'environment'>,
): { readonly accepted: boolean; readonly reason: string } {
  if (accuracy.n < environment.minGroupSize)
    return { accepted: false, reason: `only ${accuracy.n} of ${asked} rollouts had an outcome` }
  return decideAcceptance(
    { direction, accuracy, parentAccuracy, equalsParent: task === parent },
    {
      low: adaptation.low,
      high: adaptation.high,
      strict: adaptation.rule === 'strict',
      evidence: adaptation.evidence,
      confidence: adaptation.confidence,
      prior: adaptation.prior,
    },
  )
}

function decideCandidate(slot: Slot, book: IterationBook, group: Group, config: Config) {
  const { task, parent, direction, parentAccuracy } = slot.candidate!
  const { adaptation } = config
  const accuracy = tallyOf(group)
  const decision = decisionOn(slot.candidate!, accuracy, book.rolloutsPerTask, config)
  slot.candidate = null
  if (decision.accepted) {
    slot.active = task
    slot.strikes = 0
  }
  return emitEvent(decision.accepted ? 'TaskAccepted' : 'TaskRejected', {
    iteration: book.iteration,
    slot: group.slot,
    task,
    parent,
    direction,
    accuracy,
    parentAccuracy,
    thresholds: { low: adaptation.low, high: adaptation.high },
    reason: decision.reason,
  })
}
