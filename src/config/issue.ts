/** Turns a schema's complaint into an error that names the source, the key and the nearest right key. */

import type { z } from 'zod'
import type { Setting } from '../environments/setting.ts'
import { settingNames } from '../environments/settings.ts'
import { RlError } from '../errors.ts'
import { nearest } from '../nearest.ts'
import { type ConfigKey, configKeys } from './keys.ts'
import { formerSettings } from './renamed.ts'
import type { OriginOf } from './sources.ts'

export function issueError(issue: z.core.$ZodIssue, origin: OriginOf, setting: Setting | undefined): RlError {
  if (issue.code === 'unrecognized_keys') {
    const section = issue.path.map(String)
    const name = issue.keys[0] ?? ''
    return unknownKey(origin([...section, name]), section, name, configKeys(setting))
  }
  return new RlError(`${origin(issue.path)}: ${issue.path.join('.') || 'the whole'}: ${issue.message}`, {
    code: 'config.invalid',
    hint: hintFor(issue.path, configKeys(setting)),
  })
}

/**
 * Returns the error for an unknown key. It names the settings that have the key, else the nearest sibling,
 * else a key with the same last name anywhere.
 */
function unknownKey(
  origin: string,
  section: readonly string[],
  name: string,
  keys: readonly ConfigKey[],
): RlError {
  const nameOf = ({ path }: ConfigKey) => path.at(-1) ?? ''
  const siblings = keys.filter(({ path }) => path.slice(0, -1).join('.') === section.join('.'))
  const near = nearest(name, siblings.map(nameOf))
  const likely =
    near === null ? [...keys, ...configKeys()].find((key) => nameOf(key) === name)?.path : [...section, near]
  const settings = section.join('.') === 'environment' ? settingsWith(name) : []
  return new RlError(`${origin}: unknown key '${[...section, name].join('.')}'`, {
    code: 'config.unknown-key',
    hint:
      settings.length > 0
        ? `it belongs to the setting '${settings.join("' or '")}', and this config has another one`
        : likely
          ? `did you mean '${likely.join('.')}'?`
          : `here may stand ${siblings.map(({ path }) => path.join('.')).join(', ')}`,
  })
}

/**
 * Returns the settings with this section below `environment`, or with this key in the place that it once had.
 * They need not be loaded.
 */
function settingsWith(name: string): readonly string[] {
  return settingNames().includes(name) ? [name] : formerSettings(name)
}

function hintFor(path: readonly PropertyKey[], keys: readonly ConfigKey[]): string | undefined {
  const key = keys.find((known) => known.path.join('.') === path.join('.'))
  return key ? `${key.description}${key.values ? ` Expected: ${key.values}.` : ''}` : undefined
}
