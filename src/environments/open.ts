import type { Config } from '../config/schema.ts'
import { sectionOf } from './sections.ts'
import type { Elsewhere, OpenSetting } from './setting.ts'
import { loadSetting } from './settings.ts'

/** The setting that a config names, with its environment; the caller closes it. `elsewhere`: the executors of the run that it is opened in. */
export async function openSetting(config: Config, elsewhere?: Elsewhere): Promise<OpenSetting> {
  const setting = await loadSetting(config.environment)
  const section = sectionOf(setting, config)
  return { setting, section, environment: await setting.open(config, section, elsewhere) }
}

/** What else is opened for an environment. Where that fails the environment is closed: its sandboxes, browsers and desktops would keep the process for ever. */
export async function orClose<T>({ environment }: OpenSetting, opening: Promise<T>): Promise<T> {
  try {
    return await opening
  } catch (error) {
    await environment.close?.()
    throw error
  }
}
