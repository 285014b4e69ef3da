/** Turns a schema's complaint into an error that names the source, the key and the nearest right key. */

import type { z } from 'zod'
import type { Setting } from '../environments/setting.ts'
import { RlError } from '../errors.ts'
import { nearest } from '../nearest.ts'
import { type ConfigKey, configKeys } from './keys.ts'
import type { OriginOf } from './sources.ts'

export function issueError(issue: z.core.$ZodIssue, origin: OriginOf, setting: Setting | undefined): RlError {
  if (issue.code === 'unrecognized_keys') {
    const path = [...issue.path, issue.keys[0]]
    return unknownKey(origin(path), path.join('.'), configKeys(setting))
  }
  return new RlError(`${origin(issue.path)}: ${issue.path.join('.') || 'the whole'}: ${issue.message}`, {
    code: 'config.invalid',
    hint: hintFor(issue.path, configKeys(setting)),
  })
}

/** Returns the error for an unknown key. It names the nearest sibling, else a key with the same last name anywhere. */
function unknownKey(origin: string, name: string, keys: readonly ConfigKey[]): RlError {
  const parent = name.slice(0, name.lastIndexOf('.') + 1)
  const last = name.slice(parent.length)
  const names = keys.map(({ path }) => path.join('.'))
  const siblings = names.filter((one) => one.slice(0, one.lastIndexOf('.') + 1) === parent)
  const elsewhere = [...keys, ...configKeys()].find(({ path }) => path.at(-1) === last)
  const likely = nearest(name, siblings) ?? elsewhere?.path.join('.') ?? null
  const of = elsewhere?.setting ?? null
  return new RlError(`${origin}: unknown key '${name}'`, {
    code: 'config.unknown-key',
    hint:
      likely === name && of !== null
        ? `it is a key of the setting '${of}'`
        : likely
          ? `did you mean '${likely}'?`
          : `here may stand ${siblings.join(', ')}`,
  })
}

function hintFor(path: readonly PropertyKey[], keys: readonly ConfigKey[]): string | undefined {
  const key = keys.find((known) => known.path.join('.') === path.join('.'))
  return key ? `${key.description}${key.values ? ` Expected: ${key.values}.` : ''}` : undefined
}
