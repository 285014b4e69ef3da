/** Drawn rollouts for the properties of rules. */
import * as fc from 'fast-check'
import { outcomeOf } from '../../src/learning/reward.ts'
import type { PlayedRollout, WeighedRollout } from '../../src/learning/rules.ts'
import type { RewardedRollout } from '../../src/learning/terms.ts'

const drawnStep = fc.record({
  scores: fc.array(fc.constantFrom(-1 as const, 0 as const, 1 as const), { maxLength: 4 }),
  probability: fc.option(fc.double({ min: 0, max: 1, noNaN: true })),
  observation: fc.constantFrom('hall', 'kitchen', 'cellar'),
  logprob: fc.double({ min: -9, max: 0, noNaN: true }),
  noop: fc.constantFrom(0 as const, 1 as const),
  invalid: fc.constantFrom(0 as const, 0 as const, 1 as const),
  error: fc.constantFrom(0 as const, 1 as const),
  durationMs: fc.nat(1_000),
  entropy: fc.double({ min: 0, max: 5, noNaN: true }),
  baseLogprob: fc.double({ min: -9, max: 0, noNaN: true }),
  role: fc.constantFrom('plans', 'acts'),
  criterion: fc.constantFrom('safe', 'short', 'right'),
})

/** A rollout of one of three tasks, with its judgements. Ids are unique in a list of them. */
export const drawnRollouts: fc.Arbitrary<PlayedRollout[]> = fc
  .array(
    fc.record({
      task: fc.constantFrom('p', 'q', 'r'),
      value: fc.constantFrom(0, 0.3, 0.5, 1),
      ended: fc.constantFrom('goal' as const, 'step-limit' as const, 'gave-up' as const, 'context' as const),
      completionTokens: fc.nat(500),
      steps: fc.array(drawnStep, { minLength: 1, maxLength: 6 }),
    }),
    { minLength: 1, maxLength: 14 },
  )
  .map((all) =>
    all.map(
      ({ task, value, ended, completionTokens, steps }, i): PlayedRollout => ({
        ...{ id: `r${i}`, task, value, ended, completionTokens },
        actions: steps.map(() => 'go'),
        judgements: steps.map(({ scores, probability }) => ({ scores, probability })),
        progress: steps.map(() => null),
        observations: [...steps.map(({ observation }) => observation), 'end'],
        logprobs: steps.map(({ logprob }) => logprob),
        noops: steps.map(({ noop }) => noop),
        invalid: steps.map(({ invalid }) => invalid),
        errors: steps.map(({ error }) => error),
        durationsMs: steps.map(({ durationMs }) => durationMs),
        entropies: steps.map(({ entropy }) => entropy),
        baseLogprobs: steps.map(({ baseLogprob }) => baseLogprob),
        roles: steps.map(({ role }) => role),
        criteria: steps.map(({ scores, criterion }) => scores.map(() => criterion)),
        reference: 'go\nback',
      }),
    ),
  )

/** The rewards of rollouts, with the mean vote of each step as its score. */
export function rewardedAs(rollouts: readonly PlayedRollout[]): RewardedRollout[] {
  return rollouts.map(({ id, task, value, judgements }) => ({
    ...{ id, task, outcome: outcomeOf(value), graded: 2 * value - 1 },
    scores: judgements.map((one) => (one?.probability ?? 0.5) * 2 - 1),
  }))
}

/** Rollouts whose advantages are their rewards. */
export function weighedAs(rollouts: readonly PlayedRollout[]): WeighedRollout[] {
  const rewarded = rewardedAs(rollouts)
  return rollouts.map((played, i) => ({
    played,
    rewarded: rewarded[i],
    advantages: rewarded[i].scores.map((score) => score + (rewarded[i].graded ?? 0)),
  }))
}

/** The rollouts in another order, which `turn` chooses. */
export function turned<T extends { readonly id: string }>(rollouts: readonly T[], turn: number): T[] {
  const place = ({ id }: T) => (Number(id.slice(1)) * 7919 + turn) % 31
  return [...rollouts].sort((a, b) => place(a) - place(b))
}
