/** Keys that had another name once: config files, variables and logs of then are still read. */
import { isRecord } from '../is-record.ts'

const RENAMED: readonly { readonly section: string; readonly from: string; readonly to: string }[] = [
  { section: 'environment', from: 'leastGroup', to: 'minGroupSize' },
]

/** The path of a key as it is called now. */
export function presentPath(path: readonly string[]): readonly string[] {
  const renamed = RENAMED.find(({ section, from }) => path.join('.') === `${section}.${from}`)
  return renamed ? [renamed.section, renamed.to] : path
}

export function formerPaths(): readonly (readonly string[])[] {
  return RENAMED.map(({ section, from }) => [section, from])
}

/** The values under the present names of their keys; where both names stand, the present one holds. */
export function withPresentNames(values: unknown): unknown {
  if (!isRecord(values)) return values
  const present = { ...values }
  for (const { section, from, to } of RENAMED) {
    const keys = present[section]
    if (!isRecord(keys) || !Object.hasOwn(keys, from)) continue
    const { [from]: value, ...rest } = keys
    present[section] = { [to]: value, ...rest }
  }
  return present
}
