/** The rewards of a finished run under some rules, as the audit looks at them. */
import type { Config } from '../config-schema/schema.ts'
import { hadNoEffect } from '../environments/setting.ts'
import type { LogReader } from '../events/log-reader.ts'
import type { Need } from '../learning/rules.ts'
import { worthOf } from '../learning/standardise.ts'
import { completedIterations } from './completed-iterations.ts'
import { acceptedBy, advantagesOf, decisionsUnder } from './rescore.ts'

export type AuditRow = {
  readonly rollout: string
  /** Rollouts of one task in one iteration have an equal group. */
  readonly group: string
  readonly value: number
  /** The part of the reward that comes from the outcome. */
  readonly outcome: number
  /** [steps] the part of the reward that comes from scores of steps. */
  readonly scores: readonly number[]
  /** [steps] */
  readonly actions: readonly string[]
  /** [steps] true for a step without effect. */
  readonly noops: readonly boolean[]
  /** [steps] true for a step that repeats the action before it. */
  readonly repeats: readonly boolean[]
  /** [steps] true progress. Null if the environment cannot tell. */
  readonly progress: readonly (number | null)[]
}

/** Rewards of all groups that may be learned from. `onIteration` is called when one is read. */
export function auditRows(
  log: LogReader,
  needs: ReadonlySet<Need>,
  under: (config: Config) => Config,
  onIteration: (iteration: number) => void = () => {},
): readonly AuditRow[] {
  const rows: AuditRow[] = []
  for (const played of completedIterations(log, new Set<Need>([...needs, 'observations']))) {
    const config = under(played.config)
    const decided = decisionsUnder(played, played.config)
    const { rewarded, weights } = advantagesOf(played, acceptedBy(decided, 'before'), config)
    const all = [...played.groups.values()].flatMap(({ rollouts }) => rollouts)
    const byId = new Map(all.map((one) => [one.rollout, one]))
    const progress = new Map(played.scored.map((one) => [`${one.rollout}#${one.step}`, one.progress]))
    for (const one of rewarded) {
      const seen = byId.get(one.id)
      if (seen?.outcome.kind !== 'scored') continue
      const { actions, observations } = seen
      rows.push({
        rollout: one.id,
        group: `${played.iteration}/${one.task}`,
        value: seen.outcome.value,
        outcome: weights.outcome * worthOf(one),
        scores: one.scores.map((score) => weights.step * score),
        actions,
        noops: actions.map((_, step) => hadNoEffect(observations?.[step + 1] ?? '')),
        repeats: actions.map((action, step) => action === actions[step - 1]),
        progress: actions.map((_, step) => progress.get(`${one.id}#${step}`) ?? null),
      })
    }
    onIteration(played.iteration)
  }
  return rows
}
