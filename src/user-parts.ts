import type { Config } from './config.ts'
import { sectionOf } from './environments/sections.ts'
import { loadSetting } from './environments/settings.ts'
import { loadRules, userRulesOf } from './learning/registry.ts'
import { loadProviders, userProvidersOf } from './models/registry.ts'
import { loadProjections } from './projections/registry.ts'
import type { UserPart } from './registry.ts'

/** Loads all of a user's own that a config names and that decides or is folded: all that a replay needs. */
export async function loadUserParts(config: Config): Promise<void> {
  await loadRules(config)
  await loadProjections(config)
}

/**
 * Loads the same parts and those that work in a run: models, sandboxes. Resolves to the log's record of all parts that
 * decide or answer.
 */
export async function loadAllUserParts(config: Config): Promise<readonly UserPart[]> {
  await loadUserParts(config)
  await loadProviders(config)
  const setting = await loadSetting(config.environment)
  const own = await setting.userParts?.(sectionOf(setting, config))
  return [...userRulesOf(config), ...userProvidersOf(config), ...(own ?? [])]
}
