/** Keys that a config sets and nothing would read: the schema says for which models a key is. */

import { READERS, type Reader } from '../config-schema/readers.ts'
import type { Config } from '../config-schema/schema.ts'
import { settingOf } from '../environments/settings.ts'
import { isPreset } from '../models/local/presets.ts'
import { MODEL_PROVIDERS } from '../models/registry.ts'
import { configKeys } from './keys.ts'

export type Unread = { readonly path: readonly string[]; readonly message: string; readonly hint: string }

type Section = 'policy' | 'rewardModel' | 'adaptation'

/** Returns the first key that differs from its default and that nothing would read; null if there is none. */
export function unreadKey(config: Config): Unread | null {
  const readers = {
    policy: readersOfPolicy(config),
    rewardModel: readersOfJudge(config),
    adaptation: readersOfRewriter(config),
  }
  for (const { path, fallback, values, readBy } of configKeys()) {
    if (readBy === null || values === null || readers[path[0] as Section].has(readBy)) continue
    const said = path.reduce<unknown>((part, name) => (part as Record<string, unknown>)[name], config)
    if (JSON.stringify(said) === JSON.stringify(fallback)) continue
    const { who, hint } = READERS[readBy]
    return { path, message: `is read by ${who} alone`, hint }
  }
  return null
}

function readersOfPolicy(config: Config): ReadonlySet<Reader> {
  const { policy, rewardModel } = config
  const place = placeOf('policy', config)
  const preset = place === 'here' && isPreset(policy.model)
  const folder = place === 'here' && !preset
  const chooses = policy.acting === 'choices'
  const adapts = folder && policy.lora.rank !== null
  const scripted = place === 'nowhere'
  const askedJudge = rewardModel.mode !== 'off' && placeOf('rewardModel', config) === 'elsewhere'
  const writes = settingOf(config.environment)?.acting?.kind === 'texts'
  return those({
    endpoint: place !== 'here',
    template: place !== 'here',
    thinking: folder && !chooses,
    prompts: place === 'elsewhere' || (folder && !chooses) || askedJudge,
    episodes: preset || (folder && chooses) || scripted,
    folder: folder || scripted,
    adapter: policy.lora.rank !== null,
    taught: preset || (adapts && !writes) || scripted,
    constant: policy.training.aggregate === 'constant',
  })
}

function readersOfJudge(config: Config): ReadonlySet<Reader> {
  const { mode, training } = config.rewardModel
  const place = placeOf('rewardModel', config)
  return those({
    endpoint: place !== 'here',
    template: place !== 'here',
    taught: place !== 'elsewhere' || mode === 'off',
    constant: training.aggregate === 'constant',
  })
}

function readersOfRewriter(config: Config): ReadonlySet<Reader> {
  const isCalled = placeOf('adaptation', config) !== 'here'
  return those({ endpoint: isCalled, template: isCalled })
}

function those(readers: Readonly<Partial<Record<Reader, boolean>>>): ReadonlySet<Reader> {
  return new Set(Object.entries(readers).flatMap(([name, reads]) => (reads ? [name as Reader] : [])))
}

/**
 * Place of a section's model: this process, an endpoint, or nowhere because a simulation or an estimate stands in for it.
 */
function placeOf(section: Section, config: Config): 'here' | 'elsewhere' | 'nowhere' {
  const provider = MODEL_PROVIDERS.find(config[section].provider, config.models.module)
  if (provider?.trains) return 'here'
  return provider?.simulated || provider?.measures ? 'nowhere' : 'elsewhere'
}
