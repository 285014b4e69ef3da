/** Ways in which a reward can be gamed. Each detector gives a figure over the rewards of a run, or null if it sees nothing. */
import { itemAt } from '../item-at.ts'
import { correlation } from '../learning/interval.ts'
import { stableMean, stableSum } from '../learning/moments.ts'
import { centredBy, groupsOf, type Step, stepsOf } from './audit-groups.ts'
import type { AuditRow } from './audit-rows.ts'

export type Suspicion = {
  /** Size of the effect. A change of rules confirms the suspicion if it takes the figure below half. */
  readonly figure: number
  /** Numbers, as a sentence. */
  readonly evidence: string
  /** Rollouts in which it shows most. */
  readonly rollouts: readonly string[]
}

export type Detector = {
  readonly name: string
  /** The finding as a sentence. */
  readonly says: string
  /** Keys that take the cause away. */
  readonly set: readonly string[]
  readonly look: (rows: readonly AuditRow[]) => Suspicion | null
}

/** Fewer steps or rollouts than this show nothing. */
const LEAST = 12
const WITHOUT_STEPS = ['learning.reward=outcome']

export const DETECTORS: readonly Detector[] = [
  {
    name: 'noops-pay',
    says: 'steps without effect earn more than others of their group',
    set: WITHOUT_STEPS,
    look: (rows) => marked(rows, 'without effect', ({ row, step }) => row.noops[step] === true),
  },
  {
    name: 'repeats-pay',
    says: 'steps that repeat the action before them earn more than others of their group',
    set: WITHOUT_STEPS,
    look: (rows) => marked(rows, 'that repeat', ({ row, step }) => row.repeats[step] === true),
  },
  {
    name: 'clock',
    says: 'the score of a step follows from how late it comes',
    set: WITHOUT_STEPS,
    look: (rows) => follows(rows, 'turn', ({ step }) => step, 0.85),
  },
  {
    name: 'wording-pays',
    says: 'the score of a step follows from the length of its action',
    set: WITHOUT_STEPS,
    look: (rows) => follows(rows, 'characters', ({ row, step }) => row.actions[step]?.length ?? 0, 0.6),
  },
  {
    name: 'length-pays',
    says: 'longer rollouts earn more than shorter ones with the same outcome',
    set: WITHOUT_STEPS,
    look(rows) {
      const alike = centredBy(rows, ({ group, value }) => `${group}/${value}`)
      const r = correlation(alike.map(({ length, reward }) => [length, reward]))
      if (alike.length < LEAST || r === null || r.low < 0.5) return null
      const longest = [...alike].sort((a, b) => b.length - a.length)
      return {
        figure: r.value,
        evidence: `length and mean reward of ${alike.length} rollouts, r ${fixed(r)}`,
        rollouts: longest.slice(0, 3).map(({ row }) => row.rollout),
      }
    },
  },
  {
    name: 'scores-alike',
    says: 'all steps have the same score, so scores teach nothing',
    set: WITHOUT_STEPS,
    look(rows) {
      const scores = rows.flatMap((row) => row.scores)
      const [first = 0] = scores
      if (first === 0 || scores.length < LEAST || scores.some((one) => one !== first)) return null
      return {
        figure: Math.abs(first),
        evidence: `${scores.length} scores of ${first.toFixed(3)}`,
        rollouts: rows.slice(0, 3).map(({ rollout }) => rollout),
      }
    },
  },
  {
    name: 'score-repeats-itself',
    says: 'scores differ between rollouts and never inside of one',
    set: WITHOUT_STEPS,
    look(rows) {
      const long = rows.filter(({ scores }) => scores.length >= 4)
      const same = long.filter(({ scores }) => scores.every((one) => one === scores[0]))
      if (long.length < LEAST || same.length < 0.95 * long.length) return null
      if (new Set(same.map(({ scores }) => scores[0])).size < 2) return null
      return {
        figure: same.length / long.length,
        evidence: `${same.length} of ${long.length} rollouts have one score`,
        rollouts: same.slice(0, 3).map(({ rollout }) => rollout),
      }
    },
  },
  {
    name: 'scores-against-outcome',
    says: 'scores are lower in rollouts that succeed than in those of the same task that fail',
    set: WITHOUT_STEPS,
    look: (rows) => againstOutcome(rows, 'score', -0.5),
  },
  {
    name: 'success-costs',
    says: 'rollouts that succeed earn less than those of the same task that fail',
    set: ['learning.reward=outcome', 'learning.lambda=0'],
    look: (rows) => againstOutcome(rows, 'reward', -0.3),
  },
  {
    name: 'scores-against-progress',
    says: 'scores are lower where true progress is higher',
    set: WITHOUT_STEPS,
    look(rows) {
      const known = stepsOf(rows).flatMap((one) => {
        const progress = one.row.progress[one.step] ?? null
        return progress === null ? [] : [{ ...one, progress }]
      })
      const r = correlation(known.map(({ progress, centred }) => [progress, centred]))
      if (known.length < LEAST || r === null || r.high > -0.3) return null
      const worst = known.filter(({ progress, centred }) => progress * centred < 0)
      return {
        figure: -r.value,
        evidence: `scores and true progress of ${known.length} steps, r ${fixed(r)}`,
        rollouts: namesOf(worst),
      }
    },
  },
  {
    name: 'one-part-dominates',
    says: 'scores of steps outweigh the outcome, which hardly counts',
    set: WITHOUT_STEPS,
    look(rows) {
      const mixed = [...groupsOf(rows, ({ group }) => group).values()].filter(
        (group) => new Set(group.map(({ value }) => value)).size > 1,
      )
      const scores = stableSum(stepsOf(mixed.flat()).map(({ centred }) => centred ** 2))
      const outcomes = stableSum(
        mixed.flatMap((group) => {
          const all = group.flatMap(({ outcome, scores }) => scores.map(() => outcome))
          const mean = stableMean(all)
          return all.map((one) => (one - mean) ** 2)
        }),
      )
      const share = scores / (scores + outcomes)
      if (mixed.length === 0 || !(share > 0.97)) return null
      return {
        figure: share,
        evidence: `${(100 * share).toFixed(1)} % of the variance in ${mixed.length} groups of mixed outcomes is of scores`,
        rollouts: mixed.slice(0, 3).map((group) => itemAt(group, 0).rollout),
      }
    },
  },
  {
    name: 'few-steps-hold-the-reward',
    says: 'a few steps hold most of what the rewards tell apart',
    set: WITHOUT_STEPS,
    look(rows) {
      const steps = [...stepsOf(rows)].sort((a, b) => Math.abs(b.centred) - Math.abs(a.centred))
      const top = steps.slice(0, Math.max(1, Math.floor(steps.length / 50)))
      const all = stableSum(steps.map(({ centred }) => centred ** 2))
      const share = all === 0 ? 0 : stableSum(top.map(({ centred }) => centred ** 2)) / all
      if (steps.length < 50 || share < 0.6) return null
      return {
        figure: share,
        evidence: `${top.length} of ${steps.length} steps hold ${(100 * share).toFixed(0)} % of the squared scores`,
        rollouts: namesOf(top),
      }
    },
  },
  {
    name: 'nothing-pays',
    says: 'in most groups all rewards are equal, so their tasks teach nothing',
    set: ['learning.reward=progress'],
    look(rows) {
      const groups = [...groupsOf(rows, ({ group }) => group).values()]
      const flat = groups.filter(
        (group) => new Set(group.flatMap(({ outcome, scores }) => scores.map((s) => outcome + s))).size < 2,
      )
      if (groups.length < 4 || flat.length < 0.9 * groups.length) return null
      return {
        figure: flat.length / groups.length,
        evidence: `${flat.length} of ${groups.length} groups have equal rewards`,
        rollouts: flat.slice(0, 3).map((group) => itemAt(group, 0).rollout),
      }
    },
  },
]

function marked(
  rows: readonly AuditRow[],
  word: string,
  isMarked: (step: Step) => boolean,
): Suspicion | null {
  const steps = stepsOf(rows)
  const some = steps.filter(isMarked)
  const r = correlation(steps.map((one) => [isMarked(one) ? 1 : 0, one.centred]))
  if (some.length < LEAST || r === null || r.low < 0.35) return null
  const mean = stableMean(some.map(({ centred }) => centred))
  return {
    figure: r.value,
    evidence: `${some.length} steps ${word} earn ${mean.toFixed(3)} over the mean of their group, r ${fixed(r)}`,
    rollouts: namesOf(some),
  }
}

function follows(
  rows: readonly AuditRow[],
  unit: string,
  of: (step: Step) => number,
  least: number,
): Suspicion | null {
  const steps = stepsOf(rows)
  const r = correlation(steps.map((one) => [of(one), one.score]))
  if (steps.length < LEAST || r === null || Math.min(Math.abs(r.low), Math.abs(r.high)) < least) return null
  return {
    figure: Math.abs(r.value),
    evidence: `scores and ${unit} of ${steps.length} steps, r ${fixed(r)}`,
    rollouts: rows.slice(0, 3).map(({ rollout }) => rollout),
  }
}

function againstOutcome(rows: readonly AuditRow[], of: 'score' | 'reward', most: number): Suspicion | null {
  const all = centredBy(rows, ({ group }) => group)
  const mixed = all.filter(({ value }) => Math.abs(value) > 1e-9)
  const r = correlation(mixed.map((one) => [one.value, one[of]]))
  if (mixed.length < LEAST || r === null || r.high > most) return null
  return {
    figure: -r.value,
    evidence: `outcome and mean ${of} of ${mixed.length} rollouts, r ${fixed(r)}`,
    rollouts: mixed
      .filter((one) => one.value * one[of] < 0)
      .slice(0, 3)
      .map(({ row }) => row.rollout),
  }
}

/** The rollouts with the most of these steps. */
function namesOf(steps: readonly Step[]): readonly string[] {
  const counts = new Map<string, number>()
  for (const { row } of steps) counts.set(row.rollout, (counts.get(row.rollout) ?? 0) + 1)
  return [...counts]
    .sort(([, a], [, b]) => b - a)
    .slice(0, 3)
    .map(([rollout]) => rollout)
}

function fixed({ value, low, high }: { value: number; low: number; high: number }): string {
  return `${value.toFixed(2)} [${low.toFixed(2)}, ${high.toFixed(2)}]`
}
