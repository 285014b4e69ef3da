/** Types of `rlanything/learning`. `tsc --noEmit` is the test: an expected error that does not come is an error. */
import {
  type AcceptanceRule,
  ADVANTAGES,
  type AdvantageRule,
  advantages,
  outcomeOf,
  type Score,
  type StepRewardRule,
  stepReward,
} from 'rlanything/learning'

export const rule: StepRewardRule = {
  name: 'doubled',
  version: 1,
  parts: ({ value, actions }) => ({ outcome: value, steps: actions.map(() => 0) }),
  weights: ({ lambda }) => ({ outcome: 1, step: lambda }),
}

// @ts-expect-error a rule has a version
export const unversioned: StepRewardRule = { name: 'doubled', parts: rule.parts, weights: rule.weights }

export const wrongParts: StepRewardRule = {
  ...rule,
  // @ts-expect-error a rule gives rewards of steps beside the one of the outcome
  parts: ({ value }) => value,
}

export const needs: StepRewardRule = {
  ...rule,
  // @ts-expect-error nothing else can be asked for
  needs: 'pictures',
}

export const ownAdvantages: AdvantageRule = {
  name: 'raw',
  version: 1,
  // @ts-expect-error each rollout of the group has a list of advantages
  advantages: (group) => group.map(({ outcome }) => outcome),
}

export const accepting: AcceptanceRule = {
  name: 'all',
  version: 1,
  // @ts-expect-error a decision says its reason
  decide: () => ({ accepted: true }),
}

const outcome: -1 | 1 = outcomeOf(0.5)
stepReward(outcome, 1, 0.5)

// @ts-expect-error a score is -1, 0 or 1
export const score: Score = 2

const options = { weights: { outcome: 1, step: 1 }, single: 'zero', stdFloor: 0.1 } as const
const rollout = { id: 'a', task: 't', outcome, scores: [0] }
const { byRollout } = advantages([rollout], ADVANTAGES[0], options)
// @ts-expect-error what was computed cannot be changed
byRollout.set('a', new Float64Array(1))

// @ts-expect-error an outcome is -1 or 1
advantages([{ ...rollout, outcome: 0 }], ADVANTAGES[0], options)
