/**
 * Task adaptation's two decisions (paper section 2.4): whether a task needs a harder or an easier candidate, and whether a
 * measured candidate takes its parent's place. Every decision says why.
 */
import type { Direction } from '../environments/port.ts'
import { betaDistribution } from './beta.ts'
import { accuracyOf } from './filters.ts'
import type { AcceptanceRule } from './rules.ts'
import type { AcceptanceOptions, Candidate, Tally } from './terms.ts'

export type AdaptationOptions = {
  /** Ask for a harder task from this accuracy on. */
  readonly harderAt: number
  /** Ask for an easier task up to this accuracy. */
  readonly easierAt: number
}

/**
 * Returns what a task with this tally needs. Returns null if it needs nothing, or if nothing was measured.
 * @example adaptationNeed({ successes: 7, n: 8 }, { harderAt: 0.8, easierAt: 0.2 }) // 'harder'
 */
export function adaptationNeed(tally: Tally, { harderAt, easierAt }: AdaptationOptions): Direction | null {
  if (tally.n === 0) return null
  const accuracy = accuracyOf(tally)
  if (accuracy >= harderAt) return 'harder'
  return accuracy <= easierAt ? 'easier' : null
}

export type AcceptanceReason =
  | 'equal to its parent'
  | 'not measured'
  | 'never solved'
  | 'not harder than its parent'
  | 'not easier than its parent'
  | 'too hard'
  | 'too easy'
  | 'too little evidence'
  | 'always solved'
  | 'some solve it and some do not'
  | 'harder and within reach'
  | 'easier and not trivial'

export type AcceptanceDecision = {
  readonly accepted: boolean
  readonly reason: AcceptanceReason
  /** Probability of the rule under the posteriors, in [0, 1]. Null if it was not asked for. */
  readonly probability: number | null
}

/**
 * Decides if a measured candidate takes its parent's place. A harder candidate is accepted iff low < acc' < acc, an easier one
 * iff acc < acc' < high. Always acc' > 0, and the parent itself is never accepted. With `bayes` the rule must hold with at least
 * the given probability.
 * @example
 * const [accuracy, parentAccuracy] = [{ successes: 3, n: 8 }, { successes: 7, n: 8 }]
 * const candidate = { direction: 'harder', accuracy, parentAccuracy, equalsParent: false } as const
 * const options = { low: 0.2, high: 0.8, strict: true, evidence: 'point', confidence: 0.9, prior: [1, 1] } as const
 * decideAcceptance(candidate, options).accepted // true
 */
export function decideAcceptance(candidate: Candidate, options: AcceptanceOptions): AcceptanceDecision {
  const { accuracy, parentAccuracy, direction, equalsParent } = candidate
  if (equalsParent) return refused('equal to its parent')
  if (accuracy.n === 0 || parentAccuracy.n === 0) return refused('not measured')
  if (accuracy.successes === 0) return refused('never solved')
  const success = direction === 'harder' ? 'harder and within reach' : 'easier and not trivial'
  if (options.evidence === 'bayes') {
    const probability = ruleProbability(candidate, options)
    return probability >= options.confidence
      ? { accepted: true, reason: success, probability }
      : { accepted: false, reason: 'too little evidence', probability }
  }
  const now = accuracyOf(accuracy)
  const before = accuracyOf(parentAccuracy)
  if (direction === 'harder') {
    if (now >= before) return refused('not harder than its parent')
    if (options.strict ? now <= options.low : now < options.low) return refused('too hard')
  } else {
    if (now <= before) return refused('not easier than its parent')
    if (options.strict ? now >= options.high : now > options.high) return refused('too easy')
  }
  return { accepted: true, reason: success, probability: null }
}

/** Accepts a candidate that some rollouts solve and some do not. It asks for no further evidence. */
function decideMixed({ accuracy, equalsParent }: Candidate): AcceptanceDecision {
  if (equalsParent) return refused('equal to its parent')
  if (accuracy.n === 0) return refused('not measured')
  if (accuracy.successes === 0) return refused('never solved')
  if (accuracy.successes === accuracy.n) return refused('always solved')
  return { accepted: true, reason: 'some solve it and some do not', probability: null }
}

/** The published rule. The thresholds themselves are excluded (`strict`) or allowed. */
export const ACCEPTANCE_RULES: readonly AcceptanceRule[] = [
  {
    name: 'strict',
    version: 1,
    formula: 'harder: low < p new < p parent; easier: p parent < p new < high; never if it was never solved',
    source: 'RLAnything, arXiv 2602.02488, section 2.4',
    decide: (candidate, options) => decideAcceptance(candidate, { ...options, strict: true }),
  },
  {
    name: 'inclusive',
    version: 1,
    formula: 'as `strict`, and the thresholds themselves are allowed',
    source: 'RLAnything, arXiv 2602.02488, code',
    decide: (candidate, options) => decideAcceptance(candidate, { ...options, strict: false }),
  },
  {
    name: 'mixed',
    version: 1,
    formula: '0 < p new < 1, whatever the parent and the thresholds',
    source: 'a choice of this project: a group teaches if some solve it and some do not',
    decide: decideMixed,
  },
]

/** Number of cells of the quadrature. The error is below 1e-6 for the counts that occur. */
const CELLS = 1024

/**
 * Returns P(low < p' < p) for harder, P(p < p' < high) for easier. p' and p have independent Beta posteriors. It is a
 * Riemann-Stieltjes sum over p', with differences of its distribution function as weights. Nothing is drawn. The points
 * x = sin^2(pi u / 2) crowd at both ends: there a density may be unbounded (a prior below 1).
 */
export function ruleProbability(
  { direction, accuracy, parentAccuracy }: Candidate,
  { low, high, prior }: Pick<AcceptanceOptions, 'low' | 'high' | 'prior'>,
): number {
  const [from, to] = direction === 'harder' ? [low, 1] : [0, high]
  const point = (cell: number) => from + (to - from) * Math.sin((Math.PI / 2) * (cell / CELLS)) ** 2
  const candidate = betaDistribution(...posterior(accuracy, prior))
  const parent = betaDistribution(...posterior(parentAccuracy, prior))
  let probability = 0
  let below = candidate(from)
  for (let cell = 0; cell < CELLS; cell++) {
    const upTo = candidate(point(cell + 1))
    const parentBelow = parent(point(cell + 0.5))
    probability += (upTo - below) * (direction === 'harder' ? 1 - parentBelow : parentBelow)
    below = upTo
  }
  return Math.min(1, Math.max(0, probability))
}

function posterior({ successes, n }: Tally, [a, b]: readonly [number, number]): [number, number] {
  return [a + successes, b + n - successes]
}

function refused(reason: AcceptanceReason): AcceptanceDecision {
  return { accepted: false, reason, probability: null }
}
