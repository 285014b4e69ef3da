/** Verdicts and the tests that are written for them. */
import { groupName, type OpenBatch } from './judgements.ts'
import { causeWrong, type Situation, type Told } from './situation.ts'

function batchOf({ asked }: Situation, rollout: string): OpenBatch | null {
  const batch = asked.judgements.byRollout.get(rollout)?.batch
  return batch === undefined || batch.cause === null ? null : batch
}

export function verdictUnasked({ data, cause }: Told<'StepScored'>, situation: Situation): string | null {
  const { rollout, step, iteration, task, rewardModelVersion } = data
  const batch = batchOf(situation, rollout)
  const member = batch?.members.get(rollout)
  if (!batch || !member) return `rollout ${rollout} is not to be judged`
  if (step >= member.steps) return `rollout ${rollout} has ${member.steps} steps`
  if (iteration !== member.iteration || task !== member.task) return `rollout ${rollout} is of another task`
  if (rewardModelVersion !== batch.version) return `version ${batch.version} is to judge it`
  return causeWrong(cause, batch.cause, situation)
}

/** Tests are written for a task whose programs are judged together. */
export function testUnasked({ data, cause }: Told<'UnitTestWritten'>, situation: Situation): string | null {
  const { iteration, slot, purpose, task, index, rewardModelVersion } = data
  const { judgements, config } = situation.asked
  const batch = judgements.byName.get(groupName(iteration, slot))
  const [member] = batch?.members.values() ?? []
  if (!batch || !member || batch.cause === null)
    return `no programs of ${slot} in iteration ${iteration} are to be judged`
  if (purpose !== member.purpose || task !== member.task) return `the programs of ${slot} are of another task`
  if (rewardModelVersion !== batch.version) return `version ${batch.version} is to judge them`
  if (config && index >= config.rewardModel.samples)
    return `${config.rewardModel.samples} tests are asked for`
  return causeWrong(cause, batch.cause, situation)
}

export function judgedUnasked(
  { data: { rollout } }: Told<'TrajectoryJudged'>,
  situation: Situation,
): string | null {
  const batch = batchOf(situation, rollout)
  if (!batch) return `rollout ${rollout} is not to be judged`
  for (const member of batch.members.values())
    if (member.scored.size < member.steps)
      return `${member.scored.size} of ${member.steps} steps of rollout ${member.rollout} are judged`
  return null
}
