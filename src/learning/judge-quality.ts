/**
 * How good the reward model's verdicts are (reference protocol: agreement with a label a step). Process accuracy takes
 * the step's own label, outcome accuracy the outcome of its trajectory. Accuracy alone hides a judge that always says the
 * same. So the balanced accuracy and the mean verdict stand beside it. The unit is the step.
 */
import { stableMean } from './moments.ts'
import type { Score } from './terms.ts'

export type Label = -1 | 1

export type LabelledStep = {
  /** [m] verdicts of the step. */
  readonly scores: readonly Score[]
  /** A step without a label has null here and is left out. */
  readonly label: Label | null
}

export type Agreement = {
  /** Share of verdicts equal to the label. An unreadable or tied verdict is wrong. */
  readonly accuracy: number
  /** Mean of the accuracies on good and on bad labels. If one class is absent, accuracy of the other. */
  readonly balanced: number
  /** Number of verdicts (or majorities) that were compared. */
  readonly n: number
}

export type JudgeQuality = {
  /** Agreement of single verdicts. */
  readonly single: Agreement
  /** Agreement of each step's majority. */
  readonly majority: Agreement
  /** Mean of all single verdicts, in [-1, 1]. */
  readonly meanVerdict: number
  /** Share of steps labelled good. */
  readonly goodShare: number
  /** Share of single verdicts that could not be read. */
  readonly invalidShare: number
}

/**
 * Compares verdicts with the labels of their steps. Steps without a label or without verdicts are left out.
 * @example judgeQuality([{ scores: [1, 1, -1], label: 1 }]).majority.accuracy // 1
 */
export function judgeQuality(steps: readonly LabelledStep[]): JudgeQuality {
  const labelled = steps.flatMap(({ scores, label }) =>
    label === null || scores.length === 0 ? [] : [{ scores, label }],
  )
  const verdicts = labelled.flatMap(({ scores }) => [...scores])
  const share = (test: (score: Score) => boolean) =>
    verdicts.length === 0 ? 0 : verdicts.filter(test).length / verdicts.length
  return {
    single: agreement(
      labelled.flatMap(({ scores, label }) => scores.map((score) => [score, label] as const)),
    ),
    majority: agreement(labelled.map(({ scores, label }) => [majorityVerdict(scores), label] as const)),
    meanVerdict: stableMean(verdicts),
    goodShare:
      labelled.length === 0 ? 0 : labelled.filter(({ label }) => label === 1).length / labelled.length,
    invalidShare: share((score) => score === 0),
  }
}

/** Returns the sign of the sum, or 0 for a tie. */
export function majorityVerdict(scores: readonly Score[]): Score {
  return Math.sign(scores.reduce<number>((sum, score) => sum + score, 0)) as Score
}

/** Returns the agreement of (verdict, label) pairs. */
export function agreement(pairs: readonly (readonly [Score, Label])[]): Agreement {
  const right = { good: 0, bad: 0 }
  const total = { good: 0, bad: 0 }
  for (const [score, label] of pairs) {
    const side = label === 1 ? 'good' : 'bad'
    total[side]++
    if (score === label) right[side]++
  }
  const n = pairs.length
  if (n === 0) return { accuracy: 0, balanced: 0, n }
  const accuracy = (right.good + right.bad) / n
  const balanced =
    total.good === 0 || total.bad === 0 ? accuracy : (right.good / total.good + right.bad / total.bad) / 2
  return { accuracy, balanced, n }
}
