/**
 * Estimates from rows: means over seeds and paired differences, each with its interval and n. The unit of n
 * is the seed.
 */
import { type Estimate, meanT, pairedDifference } from '../learning/interval.ts'
import { linearFit } from '../learning/linear-fit.ts'
import type { Row } from './row.ts'
import { SETTING_NAMES, type Setting } from './settings.ts'

/** Compared pairs: the paper's claims, isolated signals, errors of verdicts, what staleness costs, and where rollouts fork. */
export const COMPARISONS: readonly (readonly [Setting, Setting])[] = [
  ['outcome-only', 'policy'],
  ['policy', 'policy+reward'],
  ['outcome-only', 'policy+reward'],
  ['policy+reward', 'policy+reward+environment'],
  ['outcome-only', 'policy+reward+environment'],
  ['outcome-only', 'true-progress'],
  ['outcome-only', 'reward-model-only'],
  ['outcome-only', 'outcome+environment'],
  ['outcome-only', 'outcome+estimate'],
  ['outcome-only', 'outcome+estimate-bests'],
  ['outcome+estimate', 'outcome+estimate-bests'],
  ['outcome+estimate-bests', 'outcome+estimate-bests+environment'],
  ['outcome+estimate', 'outcome+estimate+environment'],
  ['outcome-only', 'outcome+estimate+environment'],
  ['outcome-separate', 'outcome+estimate'],
  ['outcome-only', 'outcome+oracle'],
  ['outcome-only', 'outcome+oracle-bests'],
  ['random-rewriting', 'outcome+environment'],
  ['outcome-only', 'outcome+fixed-judge'],
  ['outcome+fixed-judge', 'outcome+judge'],
  ['outcome-only', 'outcome+judge'],
  ['outcome-only', 'outcome+judge-bests'],
  ['outcome+judge', 'outcome+judge-bests'],
  ['outcome+judge-bests', 'outcome+judge-bests+environment'],
  ['outcome-only', 'outcome+judge-bests+environment'],
  ['outcome+judge', 'outcome+judge+environment'],
  ['outcome-only', 'outcome+judge+environment'],
  ['outcome-only', 'outcome-separate'],
  ['outcome-separate', 'outcome+judge'],
  ['outcome-only', 'learnability'],
  ['outcome+fixed-tests', 'outcome+tests'],
  ['outcome-separate', 'verdicts-1.0'],
  ['outcome-separate', 'verdicts-0.9'],
  ['outcome-separate', 'verdicts-0.8'],
  ['outcome-separate', 'verdicts-0.7'],
  ['outcome-separate', 'verdicts-0.9+by-command'],
  ['outcome-separate', 'verdicts-0.8+by-command'],
  ['outcome-separate', 'verdicts-0.7+by-command'],
  ['verdicts-0.9', 'verdicts-0.9+by-command'],
  ['verdicts-0.8', 'verdicts-0.8+by-command'],
  ['verdicts-0.7', 'verdicts-0.7+by-command'],
  ['staleness-0', 'staleness-1'],
  ['staleness-0', 'staleness-2'],
  ['staleness-0', 'staleness-4'],
  ['staleness-0', 'staleness-0+weights'],
  ['staleness-1', 'staleness-1+weights'],
  ['staleness-2', 'staleness-2+weights'],
  ['staleness-4', 'staleness-4+weights'],
  ['branching-none', 'branching-random'],
  ['branching-none', 'branching-entropy'],
  ['branching-none', 'branching-verdict'],
  ['branching-random', 'branching-entropy'],
  ['branching-random', 'branching-verdict'],
  ['branching-entropy', 'branching-verdict'],
]

/** Temperature of the second measurement of success: sharper than the one of training. */
export const COOLER = 0.5

/** Returns one figure of a run, or null if the run has none. */
export type Figure = (row: Row) => number | null

export const firstSuccess =
  (split: string): Figure =>
  ({ evaluations }) =>
    share(evaluations.filter((one) => one.split === split).at(0))

export const lastSuccess =
  (split: string): Figure =>
  ({ evaluations }) =>
    share(evaluations.filter((one) => one.split === split).at(-1))

/** Success of the last policy at the temperature `COOLER`. */
export const coolerSuccess =
  (split: string): Figure =>
  ({ cooler }) =>
    share(cooler?.find((one) => one.split === split))

function share(tally: { readonly successes: number; readonly n: number } | undefined): number | null {
  return tally === undefined || tally.n === 0 ? null : tally.successes / tally.n
}

export const judgeFigure =
  (which: 'process' | 'outcome' | 'meanVerdict', when: 'first' | 'last'): Figure =>
  ({ judge }) =>
    judge.at(when === 'first' ? 0 : -1)?.[which] ?? null

/** Last minus first. */
export const rise =
  (first: Figure, last: Figure): Figure =>
  (row) => {
    const [from, to] = [first(row), last(row)]
    return from === null || to === null ? null : to - from
  }

/** Last judge minus first, asked about the same held-out rollouts. */
export const riseOnTheSame =
  (which: 'process' | 'outcome'): Figure =>
  ({ judges }) => {
    const versions = judges?.[which]
    return versions ? versions.last - versions.first : null
  }

/** R^2 of accepted tasks against iterations. */
export const growthFit: Figure = ({ accepted }) =>
  accepted.length < 3 ? null : (linearFit(accepted.map((count, index) => [index + 1, count]))?.r2 ?? null)

export const growthSlope: Figure = ({ accepted }) =>
  linearFit(accepted.map((count, index) => [index + 1, count]))?.slope.value ?? null

export function ofSetting(rows: readonly Row[], setting: Setting): readonly Row[] {
  return rows.filter((row) => row.setting === setting).sort((a, b) => a.seed - b.seed)
}

/** Settings that have rows. */
export function settingsIn(rows: readonly Row[]): readonly Setting[] {
  return SETTING_NAMES.filter((setting) => rows.some((row) => row.setting === setting))
}

/** Settings whose runs accepted tasks. */
export function adapting(rows: readonly Row[]): readonly Setting[] {
  return settingsIn(rows).filter((setting) =>
    ofSetting(rows, setting).some(({ accepted }) => accepted.length > 0),
  )
}

/** Splits in the order in which they were evaluated. */
export function splitsIn(rows: readonly Row[]): readonly string[] {
  return [...new Set(rows.flatMap(({ evaluations }) => evaluations.map(({ split }) => split)))]
}

/** Mean over the seeds that have the figure. Null if none has. */
export function meanOf(rows: readonly Row[], figure: Figure): Estimate | null {
  const values = rows.flatMap((row) => figure(row) ?? [])
  return values.length === 0 ? null : meanT(values)
}

/** `second` minus `first` over the seeds that both settings have. Null if there are none. */
export function difference(
  rows: readonly Row[],
  first: Setting,
  second: Setting,
  figure: Figure,
): Estimate | null {
  const others = new Map(ofSetting(rows, second).map((row) => [row.seed, figure(row)]))
  const pairs = ofSetting(rows, first).flatMap((row) => {
    const [one, other] = [figure(row), others.get(row.seed) ?? null]
    return one === null || other === null ? [] : [[one, other] as const]
  })
  return pairs.length === 0 ? null : pairedDifference(pairs)
}

/** Mean over seeds of y at each x, for curves. */
export function curve(
  points: readonly (readonly [x: number, y: number])[],
): { readonly x: number; readonly mean: Estimate }[] {
  const byX = new Map<number, number[]>()
  for (const [x, y] of points) byX.set(x, [...(byX.get(x) ?? []), y])
  return [...byX].sort(([a], [b]) => a - b).map(([x, values]) => ({ x, mean: meanT(values) }))
}
