/** Rewards and advantages of a group, as the update took them. */
import { RlError } from '../../errors.ts'
import type { LoggedEvent } from '../../events/catalogue.ts'
import type { LogReader } from '../../events/log-reader.ts'
import { type GroupAdvantages, groupAdvantages, trustText } from '../../replay/why-step.ts'

/**
 * Returns rewards and advantages of a trajectory's group. Returns null for evaluations, if the run has a user's own rules (pages run
 * no code that a log names), and if a rule reads tokens that lie in a store.
 */
export function advantagesOf(
  log: LogReader,
  trajectory: LoggedEvent<'TrajectoryCompleted'>,
): GroupAdvantages | null {
  try {
    return groupAdvantages(log, trajectory)
  } catch (error) {
    if (error instanceof RlError && UNKNOWN.has(error.code)) return null
    throw error
  }
}

const UNKNOWN: ReadonlySet<string> = new Set(['rule.unknown', 'columns.elsewhere'])

export function ruleText(group: GroupAdvantages): string {
  const { reward, lambda, advantage, expert } = group.learning
  return `${reward} reward, λ ${lambda}${trustText(group)}, ${advantage} advantages, std floor ${expert.stdFloor}`
}

/** Returns the reward of a step: its outcome's share and its score's share. Returns null if the rollout has no reward. */
export function rewardOf(group: GroupAdvantages | null, rollout: string, step: number): number | null {
  const own = group?.rewarded.find(({ id }) => id === rollout)
  if (own === undefined || group === null) return null
  return group.weights.outcome * own.outcome + group.weights.step * (own.scores[step] ?? 0)
}
