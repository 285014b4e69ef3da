/** Trajectories that wait for verdicts, with the version of the judge, and the event that asked for them. */
import type { EvaluationConfig, RewardModelConfig } from '../../../config-schema/sections.ts'
import type { EventData } from '../../../events/catalogue.ts'
import type { IterationBook } from '../../decider/books.ts'

/** A unit of judging: one trajectory, or all trajectories of a task in an iteration. */
export type OpenBatch = {
  readonly name: string
  /** The version that is to judge it. */
  readonly version: number
  /** Rollouts of it that did not end yet. */
  outstanding: number
  /**
   * Id of the event that asked for the verdicts. Null while others of the batch are played, or the version is not
   * there.
   */
  cause: string | null
  readonly members: Map<string, OpenMember>
}

type OpenMember = Pick<
  EventData<'TrajectoryCompleted'>,
  'rollout' | 'iteration' | 'purpose' | 'slot' | 'task' | 'steps'
> & {
  /** Steps that have a verdict. */
  readonly scored: Set<number>
}

export type OpenJudgements = {
  readonly byName: Map<string, OpenBatch>
  readonly byRollout: Map<string, { readonly batch: OpenBatch; readonly member: OpenMember }>
}

type Ended = EventData<'TrajectoryCompleted'> | EventData<'RolloutFailed'>

export function noJudgements(): OpenJudgements {
  return { byName: new Map(), byRollout: new Map() }
}

/** The part of a config that says what is judged. */
type JudgingConfig = {
  readonly rewardModel: RewardModelConfig
  readonly evaluation: EvaluationConfig
}

/** Enters a rollout that ended, as the reward model's decider does: with the last of its batch the verdicts are asked for. */
export function enterEnd(
  { byName, byRollout }: OpenJudgements,
  ended: Ended,
  book: IterationBook | undefined,
  config: JudgingConfig,
  newest: number,
  id: string,
): void {
  const batch = batchOf(byName, ended, book, config)
  if (batch === null) return
  byName.set(batch.name, batch)
  batch.outstanding--
  if ('outcome' in ended && ended.outcome.kind === 'scored') {
    const { rollout, iteration, purpose, slot, task, steps } = ended
    const member = { rollout, iteration, purpose, slot, task, steps, scored: new Set<number>() }
    batch.members.set(rollout, member)
    byRollout.set(rollout, { batch, member })
  }
  if (batch.outstanding > 0) return
  if (batch.members.size === 0) byName.delete(batch.name)
  else if (batch.version <= newest) batch.cause = id
}

function batchOf(
  byName: OpenJudgements['byName'],
  ended: Ended,
  book: IterationBook | undefined,
  { rewardModel, evaluation }: JudgingConfig,
): OpenBatch | null {
  const { rollout, iteration, slot, purpose } = ended
  const byGroup = rewardModel.judging === 'group'
  const hasOutcome = 'outcome' in ended && ended.outcome.kind === 'scored'
  if (rewardModel.mode === 'off' || (!byGroup && !hasOutcome)) return null
  const isMeasured = purpose === 'evaluation'
  if (isMeasured ? !evaluation.judge : !book) return null
  const name = byGroup ? groupName(iteration, slot) : rollout
  const rollouts = isMeasured ? evaluation.rollouts : (book?.groups.get(slot)?.asked ?? 1)
  const version = isMeasured ? iteration : (book?.rewardModelVersion ?? 0)
  const outstanding = byGroup ? rollouts : 1
  return byName.get(name) ?? { name, version, outstanding, cause: null, members: new Map() }
}

export function groupName(iteration: number, slot: string): string {
  return `${iteration}/${slot}`
}

/** Asks for the verdicts that waited for this version of the judge. */
export function judgeHeld({ byName }: OpenJudgements, version: number, id: string): void {
  for (const batch of byName.values())
    if (batch.cause === null && batch.outstanding <= 0 && batch.version <= version) batch.cause = id
}

export function enterScored({ byRollout }: OpenJudgements, { rollout, step }: EventData<'StepScored'>): void {
  byRollout.get(rollout)?.member.scored.add(step)
}

/** The trajectory is judged whole. */
export function closeMember({ byName, byRollout }: OpenJudgements, rollout: string): void {
  const open = byRollout.get(rollout)
  if (!open) return
  byRollout.delete(rollout)
  open.batch.members.delete(rollout)
  if (open.batch.members.size === 0) byName.delete(open.batch.name)
}
