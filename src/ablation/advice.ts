/** Two sentences for who asks which parts pay on tasks of their own: which keys to set, and why. */
import { type Contrast, contrastsOf, LEAST_PAIRS } from './contrasts.ts'
import { baseOf, pairNamed, timedOf } from './named-pair.ts'
import { primaryOf, type Results, valuesBehind } from './results.ts'
import { SETTINGS, type Setting } from './settings.ts'
import { meanOf, ofSetting } from './summary.ts'

/** Settings that a user may choose. The others are controls, or measure a single choice. */
const CHOSEN: readonly Setting[] = [
  'policy',
  'policy+reward',
  'policy+reward+environment',
  'outcome+environment',
  'outcome+estimate',
  'outcome+estimate-bests',
  'outcome+estimate+environment',
  'outcome+estimate-bests+environment',
  'outcome+judge',
  'outcome+judge-bests',
  'outcome+judge+environment',
  'outcome+judge-bests+environment',
  'learnability',
]

/** @returns null if no setting that a user may choose stands beside the base: outcomes alone, else the base of the named contrast */
export function adviceOf(results: Pick<Results, 'command' | 'config' | 'regime' | 'rows'>): string | null {
  const measured = measuredBase(results)
  const contrasts = contrastsOf(results)
  const all = contrasts.filter(({ base, added }) => base === measured && CHOSEN.includes(added))
  const added = all.filter(({ metric }) => metric === 'success')
  if (added.length === 0) return null
  const gains = CHOSEN.flatMap((setting) => {
    const own = added.filter((one) => one.added === setting)
    const pays = own.some(holds) && !own.some(isReversed)
    return pays ? [{ setting, own, gain: sum(own.map(({ difference }) => difference.value)) }] : []
  }).sort((a, b) => b.gain - a.gain)
  const best = gains[0]
  if (best === undefined) return none(measured, added)
  const falls = all.filter((one) => one.added === best.setting && isReversed(one))
  const timed = contrasts.filter(
    ({ base, added: part, metric, difference }) =>
      timedOf(base, results)?.[0] === measured &&
      part === best.setting &&
      metric === 'success' &&
      difference.n >= LEAST_PAIRS,
  )
  return some(results, measured, best.setting, { own: best.own, falls, timed })
}

function measuredBase(results: Pick<Results, 'config' | 'regime' | 'rows'>): Setting {
  const primary = primaryOf(results)
  const outcomes = ofSetting(results.rows, 'outcome-only').length > 0
  return outcomes || primary === null ? 'outcome-only' : baseOf(pairNamed(primary)[0])
}

function isReversed({ verdict }: Contrast): boolean {
  return verdict === 'reversed'
}

function holds({ verdict }: Contrast): boolean {
  return verdict === 'hold'
}

function none(base: Setting, added: readonly Contrast[]): string {
  const names = [...new Set(added.map((one) => one.added))].join(', ')
  const finds = added.flatMap(({ found80 }) => found80 ?? [])
  const size = finds.length === 0 ? null : Math.max(...finds)
  const harms = [...new Set(added.filter(isReversed).map((one) => one.added))]
  return [
    `Set ${SETTINGS[base].words.join(' ')}: no part that was measured (${names}) raised success beyond what chance explains.`,
    size === null
      ? 'One seed tells no chance: play at least three with --resume --seeds 3.'
      : `An effect of ${points(size)} points would have been found in four of five such ablations, so smaller ones may be there${harms.length === 0 ? '' : `; ${harms.join(', ')} lowered it`}.`,
  ].join(' ')
}

type Found = {
  readonly own: readonly Contrast[]
  /** Metrics at another temperature that fell: a part may make a policy surer, and no abler. */
  readonly falls: readonly Contrast[]
  /** Differences from the base at equal time. */
  readonly timed: readonly Contrast[]
}

function some(
  results: Pick<Results, 'command' | 'rows'>,
  base: Setting,
  setting: Setting,
  { own, falls, timed }: Found,
): string {
  const told = ({ split, difference: { value, low, high, n } }: Contrast) =>
    `${signed(value)} points on ${split} [${signed(low)}, ${signed(high)}], n ${n}`
  const gains = own.map(told)
  const but = falls.length === 0 ? '' : `; ${falls[0]?.metric} fell: ${falls.map(told).join(', and ')}`
  const better =
    timed.some(isReversed) && !timed.some(holds) ? ': more iterations without them do better' : ''
  const atEqualTime =
    timed.length === 0 ? '' : `; at equal time the gain is ${timed.map(told).join(', and ')}${better}`
  const seconds = (of: Setting) => meanOf(ofSetting(results.rows, of), (row) => row.seconds)?.value ?? 0
  const keys = new Set([...SETTINGS[setting].words, ...changedBy(results.command)])
  return [
    `Set ${[...keys].join(' ')}: success rose by ${gains.join(', and ')}${but}.`,
    `A run took ${seconds(setting).toFixed(0)} s with them and ${seconds(base).toFixed(0)} s without, at as many rollouts an iteration${atEqualTime}.`,
  ].join(' ')
}

/** Keys that the command changed for all settings: the part may need them. Those of the measuring are left out. */
function changedBy(command: string): readonly string[] {
  return valuesBehind('--set', command).filter((word) => !/^(evaluation|run)\./.test(word))
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0)
}

function points(share: number): string {
  return (100 * share).toFixed(1)
}

function signed(share: number): string {
  return `${share < 0 ? '-' : '+'}${points(Math.abs(share))}`
}
