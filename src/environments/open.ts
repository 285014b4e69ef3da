import type { Config } from '../config/schema.ts'
import { sectionOf } from './sections.ts'
import type { OpenSetting } from './setting.ts'
import { loadSetting } from './settings.ts'

/** The setting that a config names, with its environment; the caller closes it. */
export async function openSetting(config: Config): Promise<OpenSetting> {
  const setting = await loadSetting(config.environment)
  const section = sectionOf(setting, config)
  return { setting, section, environment: await setting.open(config, section) }
}
