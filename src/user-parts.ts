import type { Config } from './config.ts'
import { loadRules } from './learning/registry.ts'
import { loadProjections } from './projections/registry.ts'

/** Loads all of a user's own that a config names beside its environment, before anything decides or is folded. */
export async function loadUserParts(config: Config): Promise<void> {
  await loadRules(config)
  await loadProjections(config)
}
