/** Work that failed for good, and calls of an endpoint that are taken from a budget. */
import type { EventData } from '../../../events/catalogue.ts'
import type { Role } from '../../../events/envelope.ts'
import { budgetSection } from '../../learner/call-budget.ts'
import type { Asked } from './asked.ts'
import { causeWrong, type Situation, type Told } from './situation.ts'

/** Lots are taken one after the other, within the budget. */
export function lotUnasked(
  { data: { role, lot, calls } }: Told<'CallsReserved'>,
  { asked }: Situation,
): string | null {
  const section = budgetSection(role)
  const most = section && asked.config ? asked.config[section].expert.maxCalls : null
  if (section === null || most === null) return `the calls of the ${role} are not counted`
  const next = asked.lots.get(role) ?? 0
  if (lot !== next) return `lot ${next} of the ${role} is next`
  const left = most - (asked.calls.get(section) ?? 0)
  return calls <= left ? null : `${Math.max(0, left)} calls are left of ${section}.maxCalls`
}

/**
 * Checks a final failure. Only open work can fail for good. Only the process with the role says that the run cannot go
 * on without it.
 */
export function failedUnasked({ data, cause }: Told<'WorkFailed'>, situation: Situation): string | null {
  const { role, done, goesOn } = data
  const { asked, log, user } = situation
  if (done.startsWith('CallsReserved/')) return budgetUnasked(data, situation)
  if (goesOn)
    return openWork(role, done, asked) !== null ||
      (isWorkOf(role, done) && log.positionOf('key', done) !== null)
      ? null
      : `nobody asked the ${role} for ${done}`
  const asker = openWork(role, done, asked)
  if (asker === null) return `nobody waits for ${done} of the ${role}`
  if (user !== role) return `only the process with the role ${role} says that the run cannot go on`
  return causeWrong(cause, asker, situation)
}

function budgetUnasked(
  { role, done }: EventData<'WorkFailed'>,
  { asked: { config, calls, lots } }: Situation,
): string | null {
  const section = budgetSection(role)
  const most = section && config ? config[section].expert.maxCalls : null
  const isSpent = section !== null && most !== null && (calls.get(section) ?? 0) >= most
  return isSpent && done === `CallsReserved/${role}/${lots.get(role) ?? 0}`
    ? null
    : `the budget of the ${role} is not spent`
}

/**
 * Returns the id of the event that asked for open work of a role, by the natural key that ends the work. Returns null
 * if there is none.
 */
function openWork(role: Role, done: string, asked: Asked): string | null {
  const rest = done.slice(done.indexOf('/') + 1)
  if (!isWorkOf(role, done)) return null
  switch (done.slice(0, done.indexOf('/'))) {
    case 'PolicyUpdated':
      return asked.due.policy?.version === Number(rest) ? asked.due.policy.cause : null
    case 'RewardModelUpdated':
      return asked.due['reward-model']?.version === Number(rest) ? asked.due['reward-model'].cause : null
    case 'TrajectoryJudged':
      return asked.judgements.byRollout.get(rest)?.batch.cause ?? null
    case 'TaskProposed':
      return asked.rewrites.get(done)?.cause ?? null
    case 'Rollout':
      return asked.rollouts.get(rest)?.id ?? null
    case 'TaskAdded': {
      const known = asked.taskCounts.get('train')
      return known && known.seen >= known.total ? null : asked.begun
    }
    default:
      return null
  }
}

/** Types of the events that end the jobs of each role, as their natural keys begin. */
const WORK: { readonly [R in Role]: readonly string[] } = {
  head: [],
  policy: ['PolicyUpdated'],
  'reward-model': ['RewardModelUpdated', 'TrajectoryJudged'],
  environment: ['TaskAdded', 'Rollout'],
  adapter: ['TaskProposed'],
}

function isWorkOf(role: Role, done: string): boolean {
  return WORK[role].some((type) => done.startsWith(`${type}/`))
}
