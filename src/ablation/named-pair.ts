/** The two settings that a contrast names, and the controls of what it adds. */
import { RlError } from '../errors.ts'
import { rightNames } from './regimes.ts'
import { primaryOf, type Results } from './results.ts'
import { SETTING_NAMES, type Setting } from './settings.ts'

/** Controls play a setting longer: with more rollouts, or with more time. */
const CONTROLS: readonly (readonly [control: Setting, base: Setting])[] = [
  ['outcome-more', 'outcome-only'],
  ['outcome-time', 'outcome-only'],
  ['judge-time', 'outcome+judge'],
]

/** Controls that play their base for as long as a part takes. */
const AT_EQUAL_TIME: readonly Setting[] = ['outcome-time', 'judge-time']

/** Settings with one judge of steps beside the outcomes. */
const JUDGED: readonly Setting[] = [
  'policy+reward',
  'outcome+judge',
  'outcome+judge-bests',
  'outcome+estimate',
  'outcome+estimate-bests',
]

type Named = Pick<Results, 'config' | 'regime'>

/**
 * Returns the settings of a contrast, `added - base`.
 * @throws RlError `ablate.bad-contrast`
 * @example pairNamed('policy+reward - outcome-only') // ['outcome-only', 'policy+reward']
 */
export function pairNamed(text: string): readonly [base: Setting, added: Setting] {
  const names = text.split(' - ').map((name) => name.trim())
  const [added, base] = names.map((name) => SETTING_NAMES.find((one) => one === name))
  if (names.length === 2 && base !== undefined && added !== undefined && base !== added) return [base, added]
  const odd = names.find((name) => !SETTING_NAMES.some((one) => one === name))
  throw new RlError(`evaluation.contrast '${text}' names no two settings`, {
    code: 'ablate.bad-contrast',
    hint: `write 'added - base', two settings${odd === undefined ? '' : `; '${odd}' is none: ${rightNames(odd, SETTING_NAMES)}`}`,
  })
}

/** Returns the setting that a control plays longer. Any other setting is its own base. */
export function baseOf(setting: Setting): Setting {
  return CONTROLS.find(([control]) => control === setting)?.[1] ?? setting
}

/** Returns each control with the part that is compared with it. */
export function controlPairs(results: Named): readonly (readonly [control: Setting, part: Setting])[] {
  const part = partOf(results)
  return CONTROLS.map(([control, base]) => [
    control,
    base === 'outcome-only' ? part : 'outcome+judge+environment',
  ])
}

/** Returns the base that a control plays on, and the part that takes as long. Null: the setting is no control of time. */
export function timedOf(setting: Setting, results: Named): readonly [base: Setting, part: Setting] | null {
  const pair = controlPairs(results).find(([control]) => control === setting)
  return pair !== undefined && AT_EQUAL_TIME.includes(setting) ? [baseOf(setting), pair[1]] : null
}

/**
 * Returns the setting that the controls of outcomes alone are for: what the named contrast adds to them. If it adds to another setting,
 * it is the judged one of the two. A control in the contrast counts as its base.
 */
export function partOf(results: Named): Setting {
  const primary = primaryOf(results)
  if (primary === null) return 'policy+reward'
  const [base, added] = pairNamed(primary).map(baseOf) as [Setting, Setting]
  if (base === 'outcome-only' && added !== base) return added
  return [base, added].find((setting) => JUDGED.includes(setting)) ?? 'policy+reward'
}
