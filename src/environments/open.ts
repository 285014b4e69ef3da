import type { Config } from '../config-schema/schema.ts'
import { sectionOf } from './sections.ts'
import type { Elsewhere, OpenSetting } from './setting.ts'
import { loadSetting } from './settings.ts'

/**
 * Opens the environment of the setting that a config names. The caller closes it.
 *
 * @param elsewhere executors of the run, if it is opened in a run that has some
 * @example
 * const { environment } = await openSetting(loadConfig({ set: ['environment.name=alfworld'] }))
 * const tasks = await environment.tasks('train')
 */
export async function openSetting(config: Config, elsewhere?: Elsewhere): Promise<OpenSetting> {
  const setting = await loadSetting(config.environment)
  const section = sectionOf(setting, config.environment)
  return { setting, section, environment: await setting.open(config, section, elsewhere) }
}

/**
 * Opens something else for an environment, and closes the environment if that fails. Otherwise its sandboxes,
 * browsers and desktops would keep the process alive.
 */
export async function orClose<T>({ environment }: OpenSetting, opening: Promise<T>): Promise<T> {
  try {
    return await opening
  } catch (error) {
    await environment.close?.()
    throw error
  }
}
