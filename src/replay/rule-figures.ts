/** Figures of one rule over a run, gathered iteration by iteration. */
import type { PolicyAdvantages } from '../actors/policy/policy-advantages.ts'
import type { JudgedStep } from '../actors/policy/rewarded-rollout.ts'
import { groupByTask, lengthBonus } from '../learning/advantage.ts'
import type { Estimate } from '../learning/interval.ts'
import { moments } from '../learning/moments.ts'
import type { RewardWeights } from '../learning/rules.ts'
import { worthOf } from '../learning/standardise.ts'
import { changeOf } from './change-of.ts'
import type { PlayedOut } from './completed-iterations.ts'
import { type CreditBook, openCreditAgreement } from './rule-credit.ts'

export type RuleFigures = {
  readonly steps: number
  /** Steps that were pushed up and are now pushed down, or the other way round. */
  readonly turned: number
  /** Steps that were trained and are not now, or the other way round. */
  readonly switched: number
  /** Steps that are pushed the same way, and harder or softer. */
  readonly moved: number
  readonly trainedSteps: number
  /** Pearson's correlation of the advantages with those of the run. Null if either does not vary. */
  readonly withBefore: number | null
  /** Share of the rewards' variance within tasks that comes from the scores of steps, in [0, 1]. Null if nothing varies. */
  readonly stepShare: number | null
  /** Advantage that a step gains by coming one turn later: the mean of `lengthBonus` over the steps. Null if it is unknown. */
  readonly lengthBias: number | null
  /** Correlation of the advantages of trained steps with true progress. Null if the environment cannot tell it. */
  readonly withProgress: number | null
  /** Correlation of the advantages with the causal credit of drawn steps. Null without credits, or if either does not vary. */
  readonly withCredit: Estimate | null
  /** Rollouts that were rewarded. */
  readonly rewarded: number
  /** Rollouts that lack a field which the rule needs, by field. */
  readonly lacking: Readonly<Record<string, number>>
  /** Candidates that are decided otherwise. */
  readonly flipped: number
}

type Seen = {
  readonly was: PolicyAdvantages
  readonly now: PolicyAdvantages
  readonly weights: RewardWeights
  readonly flipped: number
}

const NO_CREDITS: CreditBook = new Map()

export type OpenRuleFigures = {
  readonly see: (rollouts: readonly PlayedOut[], scored: readonly JudgedStep[], seen: Seen) => void
  readonly figures: () => RuleFigures
}

/** @param credits causal credit of drawn steps, by rollout and step */
export function openRuleFigures(credits: CreditBook = NO_CREDITS): OpenRuleFigures {
  const counts = { turned: 0, switched: 0, moved: 0, none: 0 }
  const before = openCorrelation()
  const progress = openCorrelation()
  const credit = openCreditAgreement(credits)
  const parts = { outcome: 0, step: 0 }
  const length = { sum: 0, steps: 0 }
  const lacking: Record<string, number> = {}
  let [trainedSteps, rewarded, flipped] = [0, 0, 0]
  return {
    see(rollouts, scored, { was, now, weights, flipped: others }) {
      flipped += others
      for (const { rollout, steps } of rollouts) {
        const [old, own] = [was.byRollout.get(rollout), now.byRollout.get(rollout)]
        credit.see(rollout, own)
        for (let step = 0; step < steps; step++) {
          const [a, b] = [old?.[step] ?? 0, own?.[step] ?? 0]
          counts[changeOf(a, b)]++
          before.add(a, b)
          if (b !== 0) trainedSteps++
        }
      }
      for (const { rollout, step, progress: part } of scored) {
        const value = now.byRollout.get(rollout)?.[step] ?? 0
        if (part !== null && value !== 0) progress.add(value, part)
      }
      rewarded += now.rewarded.length
      for (const [name, value] of Object.entries(now.counts)) {
        const [count, field] = name.split('.')
        if (count === 'rolloutsLacking' && field !== undefined) lacking[field] = (lacking[field] ?? 0) + value
      }
      addParts(parts, now, weights)
      const bias = lengthBonus(now.kept, now.byRollout)
      if (bias === null) return
      const steps = now.kept.reduce((sum, { scores }) => sum + scores.length, 0)
      length.sum += bias * steps
      length.steps += steps
    },
    figures: () => {
      const { none, ...changes } = counts
      const varied = parts.outcome + parts.step
      return {
        steps: none + changes.turned + changes.switched + changes.moved,
        ...changes,
        trainedSteps,
        withBefore: before.value(),
        stepShare: varied > 0 ? parts.step / varied : null,
        lengthBias: length.steps > 0 ? length.sum / length.steps : null,
        withProgress: progress.value(),
        withCredit: credit.value(),
        rewarded,
        lacking,
        flipped,
      }
    },
  }
}

/** Adds the squared deviations of both parts of the rewards from their means over the task. */
function addParts(
  parts: { outcome: number; step: number },
  { kept }: PolicyAdvantages,
  weights: RewardWeights,
): void {
  for (const group of groupByTask(kept).values()) {
    const outcomes = moments(group.flatMap((one) => one.scores.map(() => weights.outcome * worthOf(one))))
    const scores = moments(group.flatMap((one) => one.scores.map((score) => weights.step * score)))
    parts.outcome += outcomes.n * outcomes.deviation ** 2
    parts.step += scores.n * scores.deviation ** 2
  }
}

/** Smallest variance that counts as one. */
const LEAST_VARIANCE = 1e-18

/** Pearson's correlation of pairs that come one by one (Welford's sums). */
function openCorrelation(): {
  readonly add: (x: number, y: number) => void
  readonly value: () => number | null
} {
  let [n, meanX, meanY, xx, yy, xy] = [0, 0, 0, 0, 0, 0]
  return {
    add(x, y) {
      n++
      const dx = x - meanX
      meanX += dx / n
      meanY += (y - meanY) / n
      const dy = y - meanY
      xy += dx * dy
      xx += dx * (x - meanX)
      yy += dy * dy * (n > 1 ? n / (n - 1) : 0)
    },
    value: () =>
      Math.min(xx, yy) > n * LEAST_VARIANCE ? Math.max(-1, Math.min(1, xy / Math.sqrt(xx * yy))) : null,
  }
}
