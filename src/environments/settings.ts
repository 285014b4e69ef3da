/**
 * The settings that a process knows by name. Our own settings are known at once. A listed package is loaded
 * if a config names its setting. A module is loaded if `environment.module` names it. All settings have the
 * same rights.
 */
import { explain, RlError } from '../errors.ts'
import { isRecord } from '../is-record.ts'
import { ownValue } from '../own-value.ts'
import { addCode } from '../package.ts'
import { refuseUnread } from '../registry.ts'
import { shape } from '../user-code.ts'
import { loadUserModule } from '../user-module.ts'
import { setting as agents } from './agents.ts'
import { setting as alfworld } from './alfworld/setting.ts'
import { setting as gym } from './gym/setting.ts'
import { setting as mcp } from './mcp/setting.ts'
import { setting as openenv } from './openenv/setting.ts'
import { setting as ors } from './ors/setting.ts'
import type { Setting } from './setting.ts'
import { settingName } from './setting-name.ts'
import { setting as simulated } from './simulated.ts'
import { settingCheck, userSetting } from './user-setting.ts'

/** A setting that a package of its own brings. */
export type SettingPackage = {
  /** Name of the setting. */
  readonly name: string
  /** The npm package. Its main entry exports `setting`. */
  readonly package: string
  readonly load: () => Promise<Readonly<Record<string, unknown>>>
  /** Address of its main module. Throws if the package is not installed. */
  readonly place: () => string
}

const registered = new Map<string, Setting>()
const packages = new Map<string, SettingPackage>()
/** Settings of loaded modules, by the module's name in the config. */
const loaded = new Map<string, Setting>()

const nameCheck = shape(settingName)

for (const setting of [alfworld, agents, gym, mcp, openenv, ors, simulated]) registerSetting(setting)

/** The part of a config that names its setting. */
export type SettingName = {
  readonly name: string
  readonly module: string | null
  /** Its own section stands under the setting's name. */
  readonly [key: string]: unknown
}

/**
 * Makes a setting known by its name, for this process.
 *
 * @throws RlError `setting.broken` if another setting or a key of the section `environment` has the name, or
 *   if it has other characters than small letters, digits and -
 * @example registerSetting(setting); const config = loadConfig({ set: ['environment.name=tic-tac-toe'] })
 */
export function registerSetting(setting: Setting): void {
  const { name } = setting
  if (registered.get(name) === setting) return
  const wrong = nameCheck(name)
  if (wrong !== null)
    throw new RlError(`the name '${name}' of a setting${wrong}`, {
      code: 'setting.broken',
      hint: 'give it another name',
    })
  if (registered.has(name))
    throw new RlError(`there are two settings '${name}'`, {
      code: 'setting.broken',
      hint: 'rename one of them',
    })
  registered.set(name, setting)
}

/** Lists packages with settings. None of them is loaded before a config names its setting. */
export function registerPackages(list: readonly SettingPackage[]): void {
  for (const one of list) packages.set(one.name, one)
  addCode(() => [...packages.values()].flatMap(placeOf))
}

function placeOf({ place }: SettingPackage): readonly string[] {
  try {
    return [place()]
  } catch {
    return [] // It is not installed.
  }
}

/** Settings that are known by name and loaded. */
export function registeredSettings(): readonly Setting[] {
  return [...registered.values()]
}

/** Names of all settings that need no module: those that are loaded, and those of packages. */
export function settingNames(): readonly string[] {
  return [...new Set([...registered.keys(), ...packages.keys()])]
}

/**
 * Loads the settings of all packages that are installed. Returns all settings that are known by name then.
 *
 * @param onBroken gets an error for each package that cannot be loaded; if absent, the first one is thrown
 */
export async function loadInstalled(onBroken?: (error: RlError) => void): Promise<readonly Setting[]> {
  for (const { name } of packages.values()) {
    try {
      await loadSetting({ name, module: null })
    } catch (error) {
      if (!(error instanceof RlError)) throw error
      if (error.code === 'setting.missing') continue
      if (!onBroken) throw error
      onBroken(error)
    }
  }
  return registeredSettings()
}

/** Returns the setting if this process has loaded it. It acts as its section says. */
export function settingOf(named: SettingName): Setting | undefined {
  const { name, module } = named
  const found = module === null ? registered.get(name) : loaded.get(module)
  return found && actingBySection(found, named[found.name])
}

const variants = new WeakMap<Setting, Map<unknown, Setting>>()

/** Returns the same setting for the same way of acting: schemas are kept by it. */
function actingBySection(setting: Setting, section: unknown): Setting {
  const { actings, ...rest } = setting
  const named = isRecord(section) ? section.acting : undefined
  const acting = actings && typeof named === 'string' ? ownValue(actings, named) : undefined
  if (!acting || acting === setting.acting) return setting
  const known = variants.get(setting) ?? new Map<unknown, Setting>()
  variants.set(setting, known)
  const variant = known.get(named) ?? { ...rest, acting }
  known.set(named, variant)
  return variant
}

/**
 * Returns the setting, and loads its package or module if needed.
 *
 * @throws RlError `setting.unknown`; `setting.missing` if its package is not installed; `setting.broken` with
 *   the package or file and the cause; those of `loadUserModule`
 */
export async function loadSetting(named: SettingName): Promise<Setting> {
  const known = settingOf(named)
  if (known) return known
  const { module } = named
  if (module === null) return fromPackage(named)
  const { file, digest, exports } = await loadUserModule(module, 'environment.module')
  if (exports.setting === undefined) throw noSetting(file, Object.keys(exports))
  refuseUnread(file, exports)
  const setting = userSetting(exports.setting, file, digest)
  if (settingNames().includes(setting.name))
    throw new RlError(`${file}: setting.name: there is a setting '${setting.name}' already`, {
      code: 'setting.broken',
      hint: 'give it another name',
    })
  loaded.set(module, setting)
  return setting
}

async function fromPackage(named: SettingName): Promise<Setting> {
  const { name } = named
  const found = packages.get(name)
  if (!found) throw unknownSetting(name)
  try {
    const setting = packagedSetting((await found.load()).setting, name)
    registerSetting(setting)
    return settingOf(named) ?? setting
  } catch (cause) {
    if (isMissing(cause, found.package))
      throw new RlError(`the setting '${name}' needs ${found.package}, which is not installed`, {
        code: 'setting.missing',
        hint: `npm install ${found.package}`,
        cause,
      })
    throw new RlError(`the package ${found.package} of the setting '${name}' is broken: ${explain(cause)}`, {
      code: 'setting.broken',
      hint: `npm install ${found.package}, in the version of rlanything`,
      cause,
    })
  }
}

/** Returns the export `setting` of a package. Throws if it is no setting, or one of another name. */
function packagedSetting(found: unknown, name: string): Setting {
  const wrong = settingCheck(found)
  if (wrong !== null) throw new Error(`setting${wrong}`)
  const setting = found as Setting
  if (setting.name !== name) throw new Error(`setting.name: it is '${setting.name}'`)
  return setting
}

/** Whether the package itself is missing. If only a dependency of the package is missing, returns false. */
function isMissing(error: unknown, name: string): boolean {
  if (!(error instanceof Error)) return false
  const { code, message } = error as NodeJS.ErrnoException
  return code === 'ERR_MODULE_NOT_FOUND' && message.includes(`'${name}'`)
}

/** The error for a name that neither a setting nor a package has. */
export function unknownSetting(name: string): RlError {
  return new RlError(`there is no setting '${name}'`, {
    code: 'setting.unknown',
    hint: `there are ${settingNames().join(', ')}; environment.module names another one`,
  })
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
