/** A run's configuration: YAML file, then environment variables, then `--set`; checked, completed and frozen. */
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { checkConfig, refusing } from './config/checks.ts'
import { issueError } from './config/issue.ts'
import { isFromFolder } from './config/labelled-rollouts.ts'
import { checkNew } from './config/new-run.ts'
import { placeModule } from './config/place-module.ts'
import { twiceError, withPresentNames } from './config/renamed.ts'
import { checkRoles } from './config/roles.ts'
import { type ConfigSources, changeValues, type OriginOf, readSources } from './config/sources.ts'
import { schemaWith, sectionIn, settingIn } from './config/with-setting.ts'
import type { Config } from './config-schema/schema.ts'
import type { Refuse, Setting } from './environments/setting.ts'
import { loadSetting } from './environments/settings.ts'
import { isRecord } from './is-record.ts'
import { isHubName } from './models/hub.ts'
import { isPreset, PRESET_NAMES } from './models/local/presets.ts'
import { loadProviders, MODEL_PROVIDERS } from './models/registry.ts'
import { firstIssue, safeParse } from './safe-parse.ts'
import { withoutCredentials } from './secrets.ts'

export type { ConfigSources } from './config/sources.ts'
export type { Config } from './config-schema/schema.ts'

/**
 * Reads, merges and checks a configuration. Every error names the source, the key and the nearest right key if there is one.
 *
 * @param setting whose keys the config holds; absent: the one that `environment.name` or `environment.module` names
 * @example const config = loadConfig({ file: 'config/default.yaml', set: ['run.seed=7'] })
 */
export function loadConfig(sources: ConfigSources, setting?: Setting): Config {
  const { values, origin } = readSources(sources)
  placeModule(values, sources.file)
  const config = parseConfig(values, origin, setting)
  checkNew(config, refusing(origin))
  return config
}

/**
 * Opens a config as `loadConfig` does, for settings and providers that may be a user's. Their modules are
 * loaded first, so that keys are checked. It also refuses what the roles of a run would refuse at their
 * start.
 */
export async function openConfig(sources: ConfigSources): Promise<Config> {
  const setting = await loadSetting(loadConfig(sources).environment)
  const { origin } = readSources(sources)
  const config = loadConfig(sources)
  await loadProviders(config)
  checkRoles(config, setting, refusing(origin))
  checkModelPlace(config, refusing(origin))
  return config
}

/** Refuses a missing path of a local policy, whose hub name may be fetched later, and of a judge that estimates. */
function checkModelPlace({ policy, rewardModel, models }: Config, refuse: Refuse): void {
  if (isFromFolder({ rewardModel })) checkJudgePlace(resolve(rewardModel.model), refuse)
  const trains = MODEL_PROVIDERS.find(policy.provider, models.module)?.trains
  if (!trains || isPreset(policy.model) || isHubName(policy.model)) return
  const folder = resolve(policy.model)
  if (existsSync(folder)) return
  refuse(
    'policy.model',
    `there is no folder or file ${folder}`,
    `name a Hugging Face folder, a GGUF file, a hub's OWNER/NAME, or one of ${PRESET_NAMES.join(', ')}`,
  )
}

function checkJudgePlace(folder: string, refuse: Refuse): void {
  if (existsSync(join(folder, 'config.json'))) return
  refuse(
    'rewardModel.model',
    `there is no folder ${folder} with a model`,
    `name one of ${PRESET_NAMES.join(', ')}, or the folder of a judge that estimates, e.g. checkpoints/reward-model/00000 of a run`,
  )
}

/** The config in a RunStarted of any age: keys that have gone since then are dropped. */
export function loggedConfig(values: unknown): Config {
  const current = withPresentNames(structuredClone(values))
  const known = safeParse(schemaWith(settingIn(current)), current)
  for (const issue of known.error?.issues ?? []) {
    if (issue.code !== 'unrecognized_keys') continue
    const parent = issue.path.reduce(
      (part: unknown, name) => (isRecord(part) ? part[String(name)] : null),
      current,
    )
    if (isRecord(parent)) for (const key of issue.keys) delete parent[key]
  }
  return parseConfig(current)
}

/** A config with some keys changed by `a.b=value` words as of `--set`. */
export function changeConfig(config: Config, set: readonly string[]): Config {
  const values: Record<string, unknown> = structuredClone(config)
  return parseConfig(values, changeValues(values, set))
}

/**
 * Loads the settings that a config names before and after a change. From then on `changeConfig` checks the keys of packages and
 * modules too.
 * @throws those of `loadSetting`
 */
export async function loadChangedSettings(config: Config, set: readonly string[]): Promise<void> {
  await loadSetting(config.environment)
  await loadSetting(changeConfig(config, set).environment)
}

/**
 * Checks an object that came from elsewhere, e.g. from the event RunStarted.
 * @example const config = parseConfig({ run: { seed: 7 } })
 */
export function parseConfig(values: unknown, origin: OriginOf = () => 'config', known?: Setting): Config {
  const named = withPresentNames(values, (...names) => {
    throw twiceError(origin(names[2]), ...names)
  })
  const setting = known ?? settingIn(named)
  const section = sectionIn(named)
  if (setting && section && typeof section.module === 'string') section.name = setting.name
  const parsed = safeParse(
    schemaWith(setting),
    setting?.acting?.kind === 'texts' ? actingByTexts(named) : named,
  )
  if (!parsed.success) throw issueError(firstIssue(parsed.error), origin, setting)
  const config = parsed.data
  checkConfig(config, setting, refusing(origin))
  return deepFreeze(config)
}

/** Adds the default way of acting for a setting that takes texts. */
function actingByTexts(values: unknown): unknown {
  if (!isRecord(values)) return values
  const { policy = {} } = values
  return isRecord(policy) && policy.acting === undefined
    ? { ...values, policy: { ...policy, acting: 'free' } }
    : values
}

/** The config as it may be shown and logged: no passwords in addresses. API keys stand in no config. */
export function loggable(config: Config): Record<string, unknown> {
  const clean = (value: unknown): unknown => {
    if (typeof value === 'string') return withoutCredentials(value, '[redacted]')
    if (Array.isArray(value)) return value.map(clean)
    if (typeof value !== 'object' || value === null) return value
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, clean(inner)]))
  }
  return clean(config) as Record<string, unknown>
}

/** SHA-256 over the redacted config as JSON with sorted keys. */
export function configDigest(config: Config): string {
  return createHash('sha256')
    .update(canonical(loggable(config)))
    .digest('hex')
}

function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return `{${entries.map(([key, inner]) => `${JSON.stringify(key)}:${canonical(inner)}`).join(',')}}`
}

/** Frozen, with 0 for -0: JSON writes both alike, so a log could not tell them apart. */
function deepFreeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null) return value
  const fields = value as Record<string, unknown>
  for (const [key, field] of Object.entries(fields))
    if (Object.is(field, -0)) fields[key] = 0
    else deepFreeze(field)
  return Object.freeze(value)
}
