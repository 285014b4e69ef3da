/** How far a run trusts a judge that estimates, as its last update of the policy says it. */
import type { LogReader } from '../../events/log-reader.ts'
import { trustOf } from '../../learning/judge-trust.ts'

export type JudgeTrust = {
  readonly iteration: number
  /** Share of lambda that the judge's falls were paid with. */
  readonly trust: number
  /** Correlation of its falls with those of the setting on the rollouts of the iteration. Null if it was not measured. */
  readonly correlation: number | null
}

/** Returns null if no judge estimates, or if no iteration is over. */
export function judgeTrustOf(log: LogReader): JudgeTrust | null {
  const last = log.newest(['PolicyUpdated'])
  if (last?.type !== 'PolicyUpdated') return null
  const { iteration, metrics } = last.data
  const { judgeTrust: trust, fallCorrelation: correlation = null } = metrics
  return trust === undefined ? null : { iteration, trust, correlation }
}

export function trustLine({ iteration, trust, correlation }: JudgeTrust): string {
  const measured =
    correlation === null
      ? 'the setting did not tell how its own estimate fell, so the next is judged with a share of 0'
      : `its falls correlate ${correlation.toFixed(2)} with the setting's, so the next has a share of ${trustOf(correlation).toFixed(2)}`
  return `the judge had a share of ${trust.toFixed(2)} of lambda in iteration ${iteration}; ${measured}`
}
