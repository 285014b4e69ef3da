import type { StepRewardRule } from '../rules.ts'

/**
 * Pays each step that chose the recorded action, and charges each that left the trace (UI-S1, 2509.11543). There a departure has 0, and
 * the outcome is the sum of the steps; -1 and the share of kept steps as O are choices of this project. Without a trace the outcome
 * alone counts.
 */
export const traced: StepRewardRule = {
  name: 'traced',
  version: 1,
  formula:
    'R_t = O + lambda S_t, S_t = 1 if the policy chose the recorded action, -1 if it left the trace, 0 beyond it',
  source: 'UI-S1, arXiv 2509.11543, code; -1 and O are choices of this project',
  needs: 'traced',
  parts: ({ value, actions, traced }) => ({
    outcome: 2 * value - 1,
    steps: actions.map((_, step) => traced?.[step] ?? 0),
  }),
  weights: ({ lambda }) => ({ outcome: 1, step: lambda }),
}
