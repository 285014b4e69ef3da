/** Differences between the config of an existing run and what a command says, key by key. */

import { isDeepStrictEqual } from 'node:util'
import type { Config } from '../config-schema/schema.ts'
import { isRecord } from '../is-record.ts'
import { withoutCredentials } from '../secrets.ts'
import { placeModule } from './place-module.ts'
import { withPresentNames } from './renamed.ts'
import { type ConfigSources, readSources } from './sources.ts'

export type Difference = {
  /** E.g. `policy.acting`. */
  readonly key: string
  /** Origin of the value, e.g. `--set policy.acting` or `config/mine.yaml:7`. */
  readonly origin: string
  /** Values as YAML, without passwords. `said` is undefined for a key that the run does not have. */
  readonly said: string
  readonly holds: string
}

/** Returns the keys whose value in the sources differs from the run's config, in the order of the sources. */
export function differencesFrom(config: Config, sources: ConfigSources): Difference[] {
  const { values, origin } = readSources(sources)
  placeModule(values, sources.file)
  const found: Difference[] = []
  const visit = (said: unknown, holds: unknown, path: readonly string[]): void => {
    if (isRecord(said) && isRecord(holds) && Object.keys(holds).length > 0) {
      for (const [key, inner] of Object.entries(said)) visit(inner, holds[key], [...path, key])
      return
    }
    // A section without a word under it, and the name that the module itself says.
    if (said === null && isRecord(holds)) return
    if (path.join('.') === 'environment.name' && config.environment.module !== null) return
    if (isDeepStrictEqual(clean(said), clean(holds))) return
    found.push({ key: path.join('.'), origin: origin(path), said: shown(said), holds: shown(holds) })
  }
  visit(withPresentNames(values), config, [])
  return found
}

function clean(value: unknown): unknown {
  return JSON.parse(withoutCredentials(JSON.stringify(value ?? null), '[redacted]'))
}

function shown(value: unknown): string {
  const text = value === undefined ? 'not there' : JSON.stringify(clean(value))
  return text.length <= 80 ? text : `${text.slice(0, 80)}...`
}
