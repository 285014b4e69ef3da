/**
 * Paired differences between settings, as claims. One is named before the runs, and stands alone. The others are
 * tested together: Holm's step-down procedure (Holm 1979) keeps the chance of any false claim at 5 %.
 */
import { type Estimate, studentP, studentQuantile } from '../learning/interval.ts'
import { stableMean, stableSum } from '../learning/moments.ts'
import { controlPairs, pairNamed } from './named-pair.ts'
import { primaryOf, type Results } from './results.ts'
import type { Row } from './row.ts'
import type { Setting } from './settings.ts'
import { COMPARISONS, COOLER, ofSetting, settingsIn, splitsIn } from './summary.ts'

const ALPHA = 0.05
/** Share of equal studies that find the effect `found80`. */
const POWER = 0.8
/** Fewer pairs may agree by chance. */
export const LEAST_PAIRS = 3

/**
 * `best of N` is the success of the programs that the written unit tests choose, and `unit tests` the share of these that are right.
 * `best of N - plain` compares programs of the same runs: those chosen, and all.
 */
export type Metric = 'success' | `success at ${number}` | 'best of N' | 'unit tests' | 'best of N - plain'
export type Verdict = 'hold' | 'undecided' | 'reversed'

export type Contrast = {
  readonly base: Setting
  readonly added: Setting
  readonly split: string
  readonly metric: Metric
  /** Named in the config before the runs. */
  readonly primary: boolean
  /**
   * `added` minus `base`, shares of test tasks or of unit tests. The limits are those of the level that the verdict is made at: 95 % for the
   * primary contrast, and that of Holm's step for each other one.
   */
  readonly difference: Estimate
  /** Two-sided, Student over seeds, by Holm for all but the primary. Null: fewer than two pairs. */
  readonly p: number | null
  /** Smallest true difference that 80 % of such studies tell from nothing, at 5 %. Null: fewer than two pairs. */
  readonly found80: number | null
  readonly verdict: Verdict
}

/** One metric of a row: solved tasks of a split, of n. */
type Tally = { readonly successes: number; readonly n: number }
type Read = (row: Row) => Tally | undefined
type Compared = { readonly metric: Metric; readonly base: Read; readonly added: Read }

/** @returns all compared pairs that have rows, the primary one first */
export function contrastsOf(results: Pick<Results, 'config' | 'regime' | 'rows'>): readonly Contrast[] {
  const { rows } = results
  const [first] = splitsIn(rows)
  const primary = primaryOf(results)
  const named = primary === null ? null : pairNamed(primary)
  const pairs = [...COMPARISONS, ...controlPairs(results)]
  const isListed = named === null || pairs.some((pair) => isPair(pair, named))
  const listed = isListed ? pairs : [named, ...pairs]
  const all = [...listed, ...settingsIn(rows).map((setting) => [setting, setting] as const)]
  const measured = all.flatMap(([base, added]) =>
    splitsIn(rows).flatMap((split) =>
      (base === added ? within(split) : between(split)).flatMap((compared) => {
        const found = paired(rows, [base, added], compared)
        return found === null ? [] : [{ base, added, split, metric: compared.metric, ...found }]
      }),
    ),
  )
  const ofNamed = measured.filter(
    ({ base, added, split }) => named !== null && isPair([base, added], named) && split === first,
  )
  // Written tests choose programs. They need not change the policy.
  const chosen =
    ofNamed.find(({ metric }) => metric === 'best of N') ?? ofNamed.find(({ metric }) => metric === 'success')
  return [
    ...(chosen ? [{ ...decided(chosen, chosen.p, ALPHA), primary: true }] : []),
    ...byHolm(measured.filter((one) => one !== chosen)),
  ]
}

function isPair([base, added]: readonly [Setting, Setting], other: readonly [Setting, Setting]): boolean {
  return base === other[0] && added === other[1]
}

/** Metrics of two settings. */
function between(split: string): readonly Compared[] {
  const reads: readonly (readonly [Metric, Read])[] = [
    ['success', ({ evaluations }) => evaluations.filter((one) => one.split === split).at(-1)],
    [`success at ${COOLER}`, ({ cooler }) => cooler?.find((one) => one.split === split)],
    ['best of N', writtenTests(split, 'bestOfN', 'tasks')],
    ['unit tests', writtenTests(split, 'unitTest', 'unitTestTasks')],
  ]
  return reads.map(([metric, read]) => ({ metric, base: read, added: read }))
}

/** Metrics of one setting, as pairs within a run. */
function within(split: string): readonly Compared[] {
  return [
    {
      metric: 'best of N - plain',
      base: writtenTests(split, 'plain', 'tasks'),
      added: writtenTests(split, 'bestOfN', 'tasks'),
    },
  ]
}

function writtenTests(
  split: string,
  share: 'plain' | 'bestOfN' | 'unitTest',
  tasks: 'tasks' | 'unitTestTasks',
): Read {
  return ({ writtenTests }) => {
    const found = writtenTests?.find((one) => one.split === split)
    const value = found?.[share] ?? null
    return found && value !== null ? { successes: value * found[tasks], n: found[tasks] } : undefined
  }
}

type Paired = {
  readonly value: number
  readonly n: number
  /** Standard error of the mean difference. */
  readonly error: number
  readonly p: number | null
}

/**
 * Seeds that both settings have. The deviation of a pair is at least that of two independent shares of so many tasks: by luck a few
 * pairs may agree better than their own rollouts allow.
 */
function paired(
  rows: readonly Row[],
  [base, added]: readonly [Setting, Setting],
  read: Compared,
): Paired | null {
  const others = new Map(ofSetting(rows, added).map((row) => [row.seed, read.added(row)]))
  const pairs = ofSetting(rows, base).flatMap((row) => {
    const [one, other] = [read.base(row), others.get(row.seed)]
    return one && other && one.n > 0 && other.n > 0 ? [[one, other] as const] : []
  })
  const n = pairs.length
  if (n === 0) return null
  const differences = pairs.map(([one, other]) => share(other) - share(one))
  const value = stableMean(differences)
  if (n < 2) return { value, n, error: 0, p: null }
  const variance = stableSum(differences.map((one) => (one - value) ** 2)) / (n - 1)
  const least = stableMean(pairs.map(([one, other]) => varianceOf(one) + varianceOf(other)))
  const error = Math.sqrt(Math.max(variance, least) / n)
  return { value, n, error, p: error === 0 ? null : studentP(Math.abs(value) / error, n - 1) }
}

function share({ successes, n }: Tally): number {
  return successes / n
}

/** Variance of a share of n tasks. */
function varianceOf(tally: Tally): number {
  const p = share(tally)
  return (p * (1 - p)) / tally.n
}

type Measured = Paired & Pick<Contrast, 'base' | 'added' | 'split' | 'metric'>

/**
 * Holm's procedure: the smallest of m p-values is tested at alpha / m, the next at alpha / (m - 1), up to the first that fails. All
 * behind it are undecided, and keep its level.
 */
function byHolm(measured: readonly Measured[]): readonly Contrast[] {
  const tested = measured.filter(({ p }) => p !== null).sort((a, b) => (a.p ?? 1) - (b.p ?? 1))
  const decisions = new Map<Measured, Contrast>()
  let level: number | null = null
  let adjusted = 0
  for (const [index, one] of tested.entries()) {
    const left = tested.length - index
    adjusted = Math.max(adjusted, Math.min(1, left * (one.p ?? 1)))
    const at: number = level ?? ALPHA / left
    const contrast = decided(one, adjusted, at)
    if (contrast.verdict === 'undecided') level ??= at
    decisions.set(one, contrast)
  }
  return measured.map((one) => decisions.get(one) ?? decided(one, null, ALPHA))
}

/** @param alpha level that its limits have, two-sided */
function decided(one: Measured, p: number | null, alpha: number): Contrast {
  const { base, added, split, metric, value, n, error } = one
  const half = n < 2 ? 0 : studentQuantile(1 - alpha / 2, n - 1) * error
  const [low, high] = [value - half, value + half]
  const verdict = n < LEAST_PAIRS ? 'undecided' : low > 0 ? 'hold' : high < 0 ? 'reversed' : 'undecided'
  const found80 =
    n < 2 ? null : (studentQuantile(1 - ALPHA / 2, n - 1) + studentQuantile(POWER, n - 1)) * error
  const difference = { value, low, high, n }
  return { base, added, split, metric, primary: false, difference, p, found80, verdict }
}
