/** Rules for rollouts: which may be asked for, and which events may tell of them. */
import { isDeepStrictEqual } from 'node:util'
import type { EventData } from '../../../events/catalogue.ts'
import { rootsOf } from '../../../learning/branching.ts'
import type { IterationBook } from '../../decider/books.ts'
import { rolloutName } from '../../decider/names.ts'
import { updatedKey } from './of-versions.ts'
import { causeWrong, idOf, type Saying, type Situation, type Told } from './situation.ts'

const ABOUT = ['iteration', 'purpose', 'split', 'slot', 'task', 'index', 'policyVersion', 'seed'] as const

export function rolloutUnasked(
  { data, cause }: Saying<{ readonly rollout: string }>,
  situation: Situation,
): string | null {
  const open = situation.asked.rollouts.get(data.rollout)
  if (!open) return `no rollout ${data.rollout} is asked for`
  const said = data as Partial<EventData<'RolloutRequested'>>
  const other = ABOUT.find((name) => name in said && !isDeepStrictEqual(said[name], open.request[name]))
  if (other !== undefined) return `its ${other} is not that of the request`
  return causeWrong(cause, open.id, situation)
}

/** Checks the screens of a rollout: one before each action and one after the last. */
export function framesUnasked(
  { data: { rollout, steps } }: Told<'TrajectoryCompleted'>,
  { asked, group }: Situation,
): string | null {
  const beside = group.find(
    ({ envelope }) => envelope.type === 'FramesRecorded' && envelope.data.rollout === rollout,
  )
  const frames =
    beside?.envelope.type === 'FramesRecorded'
      ? beside.envelope.data.frames.length
      : (asked.rollouts.get(rollout)?.frames ?? null)
  return frames === null || frames === steps + 1
    ? null
    : `it has ${steps} steps and ${frames} screens, not ${steps + 1}`
}

export function planUnasked({ data, cause }: Told<'IterationPlanned'>, situation: Situation): string | null {
  const open = situation.asked.iterations.get(data.iteration)
  if (!open || data.iteration === 0) return `no iteration ${data.iteration} is to be planned`
  if (open.book.planned) return `iteration ${data.iteration} is planned`
  return causeWrong(cause, open.started, situation)
}

export function requestUnasked(
  { data, cause }: Told<'RolloutRequested'>,
  situation: Situation,
): string | null {
  const { asked, log } = situation
  const { rollout, purpose, iteration, slot, index, policyVersion } = data
  const started = asked.iterations.get(iteration)
  if (!started) return `iteration ${iteration} is not open`
  if (rollout !== rolloutName(iteration, slot, index))
    return `it is called ${rolloutName(iteration, slot, index)}`
  if (purpose !== 'evaluation') {
    const reason = notInPlan(data, started.book)
    if (reason !== null) return reason
    if (policyVersion !== started.book.policyVersion)
      return `iteration ${iteration} is played by policy version ${started.book.policyVersion}`
    const planner = started.drawnBy.get(slot) ?? started.started
    if ((data.refill === true) !== started.drawnBy.has(slot) && branchAsker(data, situation) === null)
      return `the group of ${slot} was ${data.refill ? 'not drawn' : 'drawn'} from the reserve`
    return causeWrong(cause, branchAsker(data, situation) ?? planner, situation)
  }
  if (asked.versions.policy < iteration) return `there is no policy version ${iteration}`
  if (policyVersion !== iteration || started.measuredBy === null)
    return `policy version ${policyVersion} is not to be measured in iteration ${iteration}`
  const asker = iteration === 0 ? started.started : idOf(log, updatedKey('policy', iteration))
  return causeWrong(cause, asker, situation)
}

/** Returns the id of the event that asks for a branch of a group. Returns null for a rollout that the plan asks for. */
function branchAsker(
  { iteration, slot, index, purpose }: EventData<'RolloutRequested'>,
  { asked, log }: Situation,
): string | null {
  const { branching } = asked.config?.environment ?? {}
  const group = asked.iterations.get(iteration)?.book.groups.get(slot)
  if (branching === undefined || purpose !== 'train' || !group) return null
  const roots = rootsOf(group.asked, branching)
  if (index < roots) return null
  const root = rolloutName(iteration, slot, index - roots)
  const judged = branching === 'verdict' ? idOf(log, `TrajectoryJudged/${root}`) : null
  return judged ?? idOf(log, `Rollout/${root}`)
}

/**
 * Compares a request with the plan. The plan comes together with its requests. If the plan is not in the log yet, the
 * id alone shows the requests' origin.
 */
function notInPlan(
  { iteration, slot, task, purpose, index }: EventData<'RolloutRequested'>,
  { planned, groups }: IterationBook,
): string | null {
  const group = groups.get(slot)
  if (!planned) return null
  if (group?.task !== task || group.purpose !== purpose)
    return `iteration ${iteration} does not play ${task} in ${slot}`
  return index < group.asked ? null : `${group.asked} rollouts are planned`
}

export function measurementUnasked(
  { data }: Told<'EvaluationCompleted'>,
  { asked }: Situation,
): string | null {
  const measured = asked.measurements.get(`${data.iteration}/${data.split}`)
  const tasks = asked.taskCounts.get(data.split)?.seen ?? 0
  const expected = tasks * (asked.iterations.get(data.iteration)?.measuredBy ?? 0)
  if (measured?.ended === expected) return null
  return `${measured?.ended ?? 0} of ${expected} rollouts of ${data.split} in iteration ${data.iteration} are over`
}
