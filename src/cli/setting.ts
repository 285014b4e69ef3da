/** Commands that settings bring along: `rl <setting> <command>`. */

import { existsSync } from 'node:fs'
import { isAbsolute } from 'node:path'
import { parseCommandLine } from '../command-line.ts'
import { loadConfig } from '../config.ts'
import type { SettingCommand } from '../environments/command.ts'
import type { Setting } from '../environments/setting.ts'
import { loadSetting, registeredSettings, settingNames } from '../environments/settings.ts'
import { RlError } from '../errors.ts'
import { ownValue } from '../own-value.ts'
import { goOnWithoutReaders } from '../platform/output.ts'
import { checkOf } from './check-bridge.ts'
import type { Command } from './command.ts'
import { curves } from './curves.ts'
import { serveCommand } from './serve-environment.ts'

/** Commands of a setting that open others: a setting itself cannot read a config. */
const OPENING: Readonly<Record<string, Readonly<Record<string, SettingCommand>>>> = {
  openenv: { serve: serveCommand },
}

/** Config of a user's project (`rl init` writes it). */
const CONFIG = 'config.yaml'

/**
 * Returns the command `called`: a known setting by name, that of this folder's config by name, or any by its
 * module's path.
 */
export async function commandOfSetting(called: string): Promise<Command | undefined> {
  const setting = await settingCalled(called)
  if (!setting) return undefined
  const { name, summary } = setting
  const commands = commandsOf(setting)
  const names = Object.keys(commands)
  if (names.length === 0 && registeredSettings().includes(setting)) return undefined
  const calls = Object.values(commands).map(({ help }) => help.trim().split('\n')[0])
  return {
    summary: `${summary}: ${names.join(', ')}`,
    help: `${calls.join('\n')}\n\nrl ${called} <command> --help tells more.`,
    actionsHaveHelp: true,
    async run([action, ...argv]) {
      const command = action === undefined ? undefined : ownValue(commands, action)
      if (!command)
        throw new RlError(
          action === undefined ? 'a command is missing' : `there is no command '${name} ${action}'`,
          { code: 'cli.usage', hint: `rl ${called} --help lists them` },
        )
      if (argv.includes('--help') || argv.includes('-h')) {
        process.stdout.write(`${command.help.trim()}\n`)
        return 0
      }
      if (command.serves) goOnWithoutReaders()
      const { options = {}, positionals: allowPositionals = false } = command
      return command.run(parseCommandLine({ options, allowPositionals }, argv))
    },
  }
}

/**
 * Returns the setting of a module that this folder's config names, or undefined.
 * @throws RlError of `loadSetting`
 */
export async function settingHere(): Promise<Setting | undefined> {
  const file = existsSync(CONFIG) ? CONFIG : undefined
  const { environment } = loadConfig({ file, env: process.env })
  return environment.module === null ? undefined : loadSetting(environment)
}

async function settingCalled(name: string): Promise<Setting | undefined> {
  if (settingNames().includes(name)) return loadSetting({ name, module: null })
  if (name.startsWith('.') || isAbsolute(name)) return loadSetting({ name, module: name })
  const here = await settingHere()
  return here?.name === name ? here : undefined
}

/**
 * Returns a setting's own commands. Settings whose reward model writes unit tests also have the curves. Bridges
 * have a check.
 */
function commandsOf({ name, actings, commands, judging }: Setting): Readonly<Record<string, SettingCommand>> {
  return {
    ...commands,
    ...(judging?.by === 'tests' ? { curves } : {}),
    ...(actings ? { check: checkOf(name) } : {}),
    ...ownValue(OPENING, name),
  }
}
