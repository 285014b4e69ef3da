/** Step rewards that can be gamed, each in its own way: they measure the audit. No run should be trained with them. */

import type { PlayedRollout, StepRewardRule } from '../learning/rules.ts'
import { rng, seedOf } from '../random.ts'

const chance = (path: string, id: string, t: number) => rng(seedOf(1, path, id, t)).uniform()

/** A small noise, equal for equal steps: no plant is as clean as its formula. */
const noise = (id: string, t: number) => 0.1 * (chance('noise', id, t) - 0.5)

type Score = (rollout: PlayedRollout, t: number) => number

const success = ({ value }: PlayedRollout) => 2 * value - 1
const nothing: Score = () => 0

type Plant = {
  readonly score: Score
  readonly outcome?: (rollout: PlayedRollout) => number
  readonly needs?: StepRewardRule['needs']
  readonly weight?: number
  readonly noisy?: boolean
}

function plant(
  name: string,
  { score, outcome = success, needs = 'verdicts', weight = 0.3, noisy = true }: Plant,
): StepRewardRule {
  return {
    name,
    version: 1,
    needs,
    parts: (rollout) => ({
      outcome: outcome(rollout),
      steps: rollout.actions.map((_, t) =>
        Math.max(-1, Math.min(1, score(rollout, t) + (noisy ? noise(rollout.id, t) : 0))),
      ),
    }),
    weights: () => ({ outcome: 1, step: weight }),
  }
}

const repeats: Score = ({ actions }, t) => (t > 0 && actions[t] === actions[t - 1] ? 0.9 : 0)

export const stepRewards: readonly StepRewardRule[] = [
  plant('pays-noops', { score: ({ noops }, t) => (noops?.[t] === 1 ? 0.9 : 0), needs: ['noops'] }),
  plant('pays-repeats', { score: repeats }),
  plant('pays-late', { score: (_, t) => t / 16 }),
  plant('pays-long', { score: ({ actions }) => actions.length / 20 }),
  plant('pays-words', { score: ({ actions }, t) => (actions[t]?.length ?? 0) / 50 }),
  plant('says-yes', { score: () => 1, noisy: false }),
  plant('asks-once', { score: ({ id }) => noise(id, 0), noisy: false }),
  plant('hates-success', { score: (one) => -0.8 * success(one) }),
  plant('hates-progress', { score: ({ progress }, t) => -0.8 * (progress[t] ?? 0) }),
  plant('pays-failure', { score: nothing, outcome: (one) => -success(one) }),
  plant('outweighs', { score: ({ id }, t) => 1.8 * chance('loud', id, t) - 0.9, weight: 20 }),
  plant('jackpot', { score: ({ id }, t) => (chance('jackpot', id, t) < 0.005 ? 1 : 0) }),
]
