/** The settings that there are: ours by name, and those of modules that the config names. */
import { RlError } from '../errors.ts'
import { refuseUnread } from '../registry.ts'
import { loadUserModule } from '../user-module.ts'
import { setting as agents } from './agents.ts'
import { setting as alfworld } from './alfworld/setting.ts'
import { setting as coding } from './coding/setting.ts'
import { setting as desktop } from './desktop/setting.ts'
import type { Setting } from './setting.ts'
import { setting as simulated } from './simulated.ts'
import { setting as tools } from './tools/setting.ts'
import { userSetting } from './user-setting.ts'
import { setting as web } from './web/setting.ts'

export const OUR_SETTINGS: readonly Setting[] = [alfworld, coding, web, desktop, tools, agents, simulated]

/** Modules whose setting this process has loaded, by what the config calls them. */
const loaded = new Map<string, Setting>()

/** What a config says of its setting. */
export type SettingName = { readonly name: string; readonly module: string | null }

/** The setting, as far as this process has it: a module's must have been loaded before. */
export function settingOf({ name, module }: SettingName): Setting | undefined {
  return module === null ? OUR_SETTINGS.find((one) => one.name === name) : loaded.get(module)
}

/** Whether the setting is one of ours: its keys then stand in the section `environment` itself. */
export function isOurs(setting: Setting): boolean {
  return OUR_SETTINGS.includes(setting)
}

/** The setting, its module loaded where it is one. Errors: `setting.unknown`, `setting.broken` (with file and field), those of `loadUserModule`. */
export async function loadSetting(named: SettingName): Promise<Setting> {
  const known = settingOf(named)
  if (known) return known
  const { name, module } = named
  if (module === null)
    throw new RlError(`there is no setting '${name}'`, {
      code: 'setting.unknown',
      hint: `ours are ${OUR_SETTINGS.map((one) => one.name).join(', ')}; environment.module names another's`,
    })
  const { file, digest, exports } = await loadUserModule(module, 'environment.module')
  if (exports.setting === undefined) throw noSetting(file, Object.keys(exports))
  refuseUnread(file, exports)
  const setting = userSetting(exports.setting, file, digest)
  if (OUR_SETTINGS.some((one) => one.name === setting.name))
    throw new RlError(`${file}: setting.name: '${setting.name}' is that of a setting of ours`, {
      code: 'setting.broken',
    })
  loaded.set(module, setting)
  return setting
}

function noSetting(file: string, names: readonly string[]): RlError {
  const found = names.includes('default')
    ? 'there is a default export'
    : names.length === 0
      ? 'the module exports nothing'
      : `the module exports ${names.slice(0, 5).join(', ')}`
  return new RlError(`${file}: setting: there is no export of this name; ${found}`, {
    code: 'setting.broken',
    hint: 'write export const setting = { name, summary, open, ... }; docs/environments.md shows one',
  })
}
