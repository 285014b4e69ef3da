/** Gifts of earlier rollouts to later ones: branches of a group, places to start from, and hints. */
import type { Config } from '../../config.ts'
import type { EventData } from '../../events/catalogue.ts'
import { readFloat32 } from '../../events/columns.ts'
import { type Branched, branchStep, rootsOf } from '../../learning/branching.ts'
import { seedOf } from '../../random.ts'
import { bookOf } from '../decider/books.ts'
import type { Output } from '../decider/decider.ts'
import { emitEvent } from '../decider/fold.ts'
import { byText, placeOfRollout } from '../decider/names.ts'
import type { EnvironmentContext } from './context.ts'
import { limitOf, requestFor } from './playing.ts'

type Ended = EventData<'TrajectoryCompleted'> | EventData<'RolloutFailed'>

/** Asks for the branch of a rollout that ended. By verdicts it is asked for once the rollout is judged. */
export function branchAfter(context: EnvironmentContext, rollout: Ended, config: Config): readonly Output[] {
  const { branching } = config.environment
  if (branching === undefined) return []
  const isScored = 'outcome' in rollout && rollout.outcome.kind === 'scored'
  if (isScored && branching === 'verdict') return []
  const { entropiesF32 } = 'outcome' in rollout ? rollout : {}
  const entropies = entropiesF32 ? [...readFloat32(entropiesF32)] : null
  // A rollout that failed has no state to share.
  const branched = isScored ? { steps: rollout.steps, entropies, complaints: [] } : null
  return branchOf(context, rollout, branched, config)
}

/** Asks for the branch of a rollout that was judged. */
export function branchAfterVerdict(
  context: EnvironmentContext,
  { complaints, steps: { good, bad, undecided }, ...about }: EventData<'TrajectoryJudged'>,
  config: Config,
): readonly Output[] {
  if (config.environment.branching !== 'verdict') return []
  const branched = {
    steps: good + bad + undecided,
    entropies: null,
    complaints: complaints.map(({ step }) => step),
  }
  return branchOf(context, about, branched, config)
}

function branchOf(
  { books, slots }: EnvironmentContext,
  { rollout, purpose, iteration, slot }: Pick<Ended, 'rollout' | 'purpose' | 'iteration' | 'slot'>,
  branched: Branched | null,
  config: Config,
): readonly Output[] {
  const { branching } = config.environment
  const book = bookOf(books, { purpose, iteration })
  const group = book?.groups.get(slot)
  if (!book || group?.purpose !== 'train' || branching === undefined) return []
  const roots = rootsOf(group.asked, branching)
  const root = Number(rollout.slice(rollout.lastIndexOf('/') + 1))
  const index = root + roots
  if (root >= roots || index >= group.asked) return []
  const request = requestFor(book, group, index, config.run.seed)
  const maxSteps = limitOf(slots, group, iteration, config)
  const step = branched ? branchStep(branching, branched, seedOf(request.seed, 'branch')) : 0
  const start = step > 0 ? { start: { rollout, step } } : {}
  return [emitEvent('RolloutRequested', { ...request, maxSteps, ...start })]
}

/** Keeps a success as a place to start from. The order of arrival does not count. */
export function noteSuccess(
  { slots }: EnvironmentContext,
  trajectory: EventData<'TrajectoryCompleted'>,
): void {
  const { rollout, slot: name, task, steps, outcome } = trajectory
  const slot = slots.get(name)
  if (slot?.active !== task || outcome.kind !== 'scored' || !outcome.success || steps < 2) return
  if (isNewer(rollout, slot.success?.rollout)) slot.success = { rollout, steps }
}

/** Most characters of a hint. */
const HINT = 400

/** Keeps the first complaint about a rollout of an unsolved task. */
export function noteComplaint({ slots }: EnvironmentContext, judged: EventData<'TrajectoryJudged'>): void {
  const { rollout, slot: name, task, purpose, complaints } = judged
  const slot = purpose === 'train' ? slots.get(name) : undefined
  const [first] = complaints
  if (!slot || slot.active !== task || !first) return
  // The group may be over already, and solved.
  if (slot.busy === null && (slot.last?.successes ?? 0) > 0) return
  if (isNewer(rollout, slot.complaint?.rollout))
    slot.complaint = { rollout, text: first.critique.slice(-HINT) }
}

/** Whether a rollout is of a later iteration than another, or before it by name in the same one. */
function isNewer(rollout: string, than: string | undefined): boolean {
  if (than === undefined) return true
  const [own, other] = [placeOfRollout(rollout).iteration, placeOfRollout(than).iteration]
  return own === other ? byText(rollout, than) < 0 : own > other
}
