import type { Config } from './config.ts'
import { sectionOf } from './environments/sections.ts'
import { loadSetting } from './environments/settings.ts'
import { loadRules, userRulesOf } from './learning/registry.ts'
import { loadProviders, userProvidersOf } from './models/registry.ts'
import { loadProjections } from './projections/registry.ts'
import type { UserPart } from './registry.ts'

/** Loads all of a user's parts that decide or are folded. A replay needs no others. */
export async function loadUserParts(config: Config): Promise<void> {
  await loadRules(config)
  await loadProjections(config)
}

/** Also loads the parts that work in a run: models and sandboxes. Resolves to the log's record of all parts that decide or answer. */
export async function loadAllUserParts(config: Config): Promise<readonly UserPart[]> {
  await loadUserParts(config)
  await loadProviders(config)
  const setting = await loadSetting(config.environment)
  const own = await setting.userParts?.(sectionOf(setting, config.environment))
  return [...userRulesOf(config), ...userProvidersOf(config), ...(own ?? [])]
}
